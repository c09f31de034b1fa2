"use strict";
// The charts of assignments, and filters drawn over the subscriptions they must hold.

const AssignmentCharts = (() => {
  const { svg, el, number, plural, isolated, tip } = Core;
  const WORDS = { bandwidth: "bandwidth", delay_rms: "delay RMS", load_stdev: "load st. dev." };

  const charts = {
    triangle(figure, host, { assignments, triangle }) {
      Charts.triangle(host, { label: "Bandwidth, delay and load", corners: triangle.corners.map((c) => WORDS[c]),
        rows: assignments.map((a, index) => ({ label: a.label, index, shares: triangle.shares[index], shown: triangle.corners.map((c) => number(a[c])) })) });
    },
    "load-boxes"(figure, host, { assignments }) {
      Charts.boxes(host, { label: "Load of the brokers", x: { label: "subscribers" }, rows: assignments.map((a, index) => ({ label: a.label, index, box: a.load_box })) });
    },
    "delay-boxes"(figure, host, { assignments }) {
      Charts.boxes(host, { label: "Delays", x: { label: "delay" }, rows: assignments.map((a, index) => ({ label: a.label, index, box: a.delay.box })) });
    },
    "delay-ccdf"(figure, host, { assignments }) {
      Charts.xy(host, { label: "Delay of the subscribers", kind: "step", x: { label: "delay", min: 0 }, y: { label: "share of subscribers with at least", min: 0, max: 1, format: Core.percent },
        series: assignments.map((a, index) => ({ label: a.label, index, points: a.delay.ccdf })) });
    },
  };

  function filters(root, { problem, assignments }) {
    const host = root.querySelector(".plot"), description = root.querySelector(".description");
    const chooser = root.querySelector("[data-broker]");
    const state = { chosen: 0, broker: -1, axes: [0, Math.min(1, problem.n_dimensions - 1)] };
    chooser.append(el("option", { value: -1 }, "all leaves"));
    problem.leaves.forEach((b) => chooser.append(el("option", { value: b }, problem.brokers[b])));
    const flat = problem.n_dimensions === 1;

    function draw(width) {
      const height = Math.min(width * 0.8, 600), [i, j] = state.axes;
      const assignment = assignments[state.chosen], drawn = problem.drawn;
      const root = Charts.frame(width, height, "Filters over subscriptions");
      const box = { left: 48, right: width - 12, top: 26, bottom: height - 42 };
      const ends = (d) => drawn.low.map((p) => p[d]).concat(drawn.high.map((p) => p[d]), assignment.filters.low.map((p) => p[d]), assignment.filters.high.map((p) => p[d]));
      const x = { label: `dimension ${i + 1}` }, y = { label: flat ? "subscriptions" : `dimension ${j + 1}` };
      const sx = Charts.scale(x, ends(i), box.left, box.right);
      const sy = flat ? { at: (v) => box.bottom - v * (box.bottom - box.top), ticks: [] } : Charts.scale(y, ends(j), box.bottom, box.top);
      Charts.axes(root, x, y, sx, sy, box);
      const rect = (low, high, attributes, row) => {
        const top = flat ? sy.at(row[1]) : sy.at(high[j]), bottom = flat ? sy.at(row[0]) : sy.at(low[j]);
        return svg("rect", { x: sx.at(low[i]), y: top, width: Math.max(sx.at(high[i]) - sx.at(low[i]), 1), height: Math.max(bottom - top, 1), ...attributes });
      };
      drawn.low.forEach((low, k) => {
        if (state.broker >= 0 && assignment.drawn_broker[k] !== state.broker) return;
        const at = (k + 0.5) / drawn.low.length;
        root.append(rect(low, drawn.high[k], { class: "wanted" }, [at, at + 0.002]));
      });
      assignment.filters.low.forEach((low, k) => {
        const broker = assignment.filters.broker[k], leaf = problem.leaves.indexOf(broker);
        if (leaf < 0 || (state.broker >= 0 && broker !== state.broker)) return;
        root.append(rect(low, assignment.filters.high[k], { class: `line solid s${leaf % 8} filter`, "data-of": broker, fill: "none", "stroke-width": state.broker >= 0 ? 3 : 1.6 }, [0, 1]));
        // A line is hard to point at: a wider one that is not seen answers for it.
        const shape = rect(low, assignment.filters.high[k], { class: "hit", "pointer-events": "stroke" }, [0, 1]);
        const say = (event) => tip(`${problem.brokers[broker]}\n${plural(assignment.loads[leaf], "subscriber")}\nfilter volume ${number(assignment.bandwidths[leaf])}`, event.clientX, event.clientY);
        shape.addEventListener("pointermove", say);
        shape.addEventListener("pointerdown", say);
        shape.addEventListener("pointerleave", () => tip(""));
        root.append(shape);
      });
      return [root, ...legend()];
    }

    // Which colour is whose, where each leaf has one of its own.
    function legend() {
      if (state.broker >= 0 || problem.leaves.length > 8) return [];
      return [el("div", { class: "legend" }, ...problem.leaves.map((b, leaf) => el("span", {},
        svg("svg", { class: "swatch", viewBox: "0 0 22 10", "aria-hidden": "true" }, svg("line", { class: `line solid s${leaf % 8}`, x1: 1, y1: 5, x2: 21, y2: 5 })), problem.brokers[b])))];
    }

    function show() {
      const assignment = assignments[state.chosen];
      host.replaceChildren(...draw(Math.round(host.clientWidth)));
      const leaf = problem.leaves.indexOf(state.broker);
      const some = problem.drawn.every > 1 ? ` One in ${number(problem.drawn.every)} subscriptions is drawn.` : "";
      description.replaceChildren(el("p", {}, leaf < 0
        ? `${isolated(assignment.label)}: filters of ${plural(problem.leaves.length, "leaf", "leaves")} over the boxes that subscribers want.${problem.leaves.length > 8 ? " Colours repeat; point at a line, or choose a broker." : ""}${some}`
        : `${isolated(assignment.label)}, ${isolated(problem.brokers[state.broker])}: ${plural(assignment.loads[leaf], "subscriber")} (its fair share is ${number(problem.fair_loads[leaf])}), filter volume ${number(assignment.bandwidths[leaf])}.${some}`));
    }

    chooser.addEventListener("change", () => { state.broker = Number(chooser.value); show(); });
    root.querySelectorAll("[data-axis]").forEach((s) => s.addEventListener("change", () => { state.axes[Number(s.dataset.axis)] = Number(s.value); show(); }));
    root.querySelectorAll("[data-assignment]").forEach((b) => b.addEventListener("click", () => {
      state.chosen = Number(b.dataset.assignment);
      root.querySelectorAll("[data-assignment]").forEach((o) => o.setAttribute("aria-pressed", String(o === b)));
      show();
    }));
    let width = 0;
    new ResizeObserver(() => {
      if (host.clientWidth !== width) { width = host.clientWidth; show(); }
    }).observe(host);
  }

  return { charts, filters };
})();
