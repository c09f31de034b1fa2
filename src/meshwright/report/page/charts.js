"use strict";
// Charts as SVG: lines, dots, bars, boxes, the triangle. Drawn again when their width changes.

const Charts = (() => {
  const { svg, el, number, clip, tip } = Core;
  // Eight colours, each with dashes of its own; the next eight are thin.
  const line = (index) => `line s${index % 8}${index >= 8 ? " again" : ""}`;

  function niceStep(span, count) {
    const rough = span / Math.max(count, 1);
    const power = 10 ** Math.floor(Math.log10(rough));
    const unit = rough / power;
    return (unit > 5 ? 10 : unit > 2 ? 5 : unit > 1 ? 2 : 1) * power;
  }

  function scale(axis, values, from, to) {
    let low = axis.min ?? Math.min(...values), high = axis.max ?? Math.max(...values);
    if (!Number.isFinite(low)) [low, high] = [0, 1];
    if (axis.log) {
      low = Math.max(low, 1e-12);
      if (high <= low) high = low * 10;
      const a = Math.log10(low), b = Math.log10(high);
      const at = (v) => from + ((Math.log10(Math.max(v, low)) - a) / (b - a)) * (to - from);
      const ticks = [];
      const parts = b - a < 1.2 ? [1, 2, 5] : b - a < 2.4 ? [1, 3] : [1];
      for (let e = Math.floor(a); e <= Math.ceil(b); e += 1)
        for (const part of parts) {
          const v = part * 10 ** e;
          if (v >= low * 0.999 && v <= high * 1.001) ticks.push(Number(v.toPrecision(6)));
        }
      return { at, ticks: ticks.length > 7 ? ticks.filter((_, i) => i % 2 === 0) : ticks };
    }
    if (high <= low) high = low + 1;
    const step = Math.max(niceStep(high - low, Math.abs(to - from) > 260 ? 6 : 4), axis.whole ? 1 : 0);
    const first = Math.ceil(low / step - 1e-9) * step, ticks = [];
    for (let v = first; v <= high + step * 1e-6; v += step) ticks.push(Number(v.toPrecision(10)));
    // An axis that begins at another number than a tick says so.
    if (axis.min !== undefined && first - low > step * 0.3) ticks.unshift(low);
    return { at: (v) => from + ((v - low) / (high - low)) * (to - from), ticks };
  }

  // Put a drawing into its place, and again whenever the place has another width.
  function place(host, draw) {
    let width = 0;
    const paint = () => {
      const now = Math.round(host.clientWidth);
      if (now < 40 || now === width) return;
      width = now;
      host.replaceChildren(...draw(now));
    };
    new ResizeObserver(paint).observe(host);
    paint();
  }

  function frame(width, height, label) {
    return svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label });
  }

  function text(x, y, content, attributes = {}) {
    return svg("text", { x, y, ...attributes }, String(content));
  }

  function legend(series) {
    if (series.length < 2) return null;
    return el("div", { class: "legend" }, ...series.map((s) =>
      el("span", {}, svg("svg", { class: "swatch", viewBox: "0 0 22 10", "aria-hidden": "true" },
        svg("line", { class: line(s.index), x1: 1, y1: 5, x2: 21, y2: 5 })), s.label)));
  }

  function axes(root, x, y, sx, sy, box) {
    const fx = x.format || number, fy = y.format || number;
    for (const v of sy.ticks) {
      root.append(svg("line", { class: "grid", x1: box.left, x2: box.right, y1: sy.at(v), y2: sy.at(v) }));
      root.append(text(box.left - 8, sy.at(v) + 4, fy(v), { "text-anchor": "end" }));
    }
    for (const v of sx.ticks) {
      root.append(svg("line", { class: "axis", x1: sx.at(v), x2: sx.at(v), y1: box.bottom, y2: box.bottom + 4 }));
      root.append(text(sx.at(v), box.bottom + 18, fx(v), { "text-anchor": "middle" }));
    }
    root.append(svg("line", { class: "axis", x1: box.left, x2: box.right, y1: box.bottom, y2: box.bottom }));
    root.append(text(box.right, box.bottom + 36, x.label, { "text-anchor": "end" }));
    root.append(text(0, 12, y.label, {}));
  }

  // Pointer and arrow keys walk along the points of a chart.
  function readable(root, points, width) {
    const mark = svg("circle", { class: "ring", r: 4.5, visibility: "hidden" });
    root.append(mark);
    root.setAttribute("tabindex", "0");
    let current = -1;
    const show = (i, event) => {
      current = i;
      const p = points[i];
      if (!p) return;
      mark.setAttribute("cx", p.x);
      mark.setAttribute("cy", p.y);
      mark.setAttribute("visibility", "visible");
      const box = root.getBoundingClientRect(), by = box.width / width;
      tip(p.text, event ? event.clientX : box.left + p.x * by, event ? event.clientY : box.top + p.y * by);
    };
    const hide = () => {
      mark.setAttribute("visibility", "hidden");
      tip("");
    };
    const point = (event) => {
      const box = root.getBoundingClientRect(), by = width / box.width;
      const px = (event.clientX - box.left) * by, py = (event.clientY - box.top) * by;
      let best = -1, least = 60 * 60;
      points.forEach((p, i) => {
        const d = (p.x - px) ** 2 + (p.y - py) ** 2;
        if (d < least) [best, least] = [i, d];
      });
      if (best < 0) hide();
      else show(best, event);
    };
    root.addEventListener("pointermove", point);
    root.addEventListener("pointerdown", point);
    root.addEventListener("pointerleave", hide);
    root.addEventListener("blur", hide);
    root.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (event.key === "Escape") hide();
      if (!step || !points.length) return;
      event.preventDefault();
      show((current + step + points.length) % points.length);
    });
  }

  // series: {label, index, points: [[x, y, n?]]}; kind: line, step or dots; marks: {x, y, text}
  function xy(host, { label, series, x, y, kind = "line", marks = [], height = 270 }) {
    place(host, (width) => {
      const root = frame(width, height, label);
      const all = series.flatMap((s) => s.points).filter((p) => (!x.log || p[0] > 0) && (!y.log || p[1] > 0));
      const box = { left: 48, right: width - 12, top: 26, bottom: height - 42 };
      const sx = scale(x, all.map((p) => p[0]), box.left, box.right);
      const sy = scale(y, all.map((p) => p[1]), box.bottom, box.top);
      axes(root, x, y, sx, sy, box);
      const fx = x.format || number, fy = y.format || number, points = [];
      for (const s of series) {
        const name = series.length > 1 ? `${s.label}\n` : "";
        const shown = s.points.filter((p) => (!x.log || p[0] > 0) && (!y.log || p[1] > 0));
        const at = shown.map((p) => [sx.at(p[0]), sy.at(p[1])]);
        if (kind !== "dots" && at.length) {
          let d = `M${at[0][0]},${at[0][1]}`;
          for (let i = 1; i < at.length; i += 1)
            d += kind === "step" ? `V${at[i][1]}H${at[i][0]}` : `L${at[i][0]},${at[i][1]}`;
          root.append(svg("path", { class: line(s.index), d }));
        }
        const most = Math.max(...s.points.map((p) => p[2] || 1));
        shown.forEach((p, i) => {
          if (p[3] === "silent") return;
          if (kind === "dots")
            root.append(svg("circle", { class: `f${s.index % 8}`, "fill-opacity": 0.55, cx: at[i][0], cy: at[i][1], r: 2.5 + 7 * Math.sqrt((p[2] || 1) / most) }));
          else if (kind === "line" && s.points.length < 30)
            root.append(svg("circle", { class: `f${s.index % 8}`, cx: at[i][0], cy: at[i][1], r: 3 }));
          points.push({ x: at[i][0], y: at[i][1], text: `${name}${(s.tell || ((q) => `${x.label}: ${fx(q[0])}\n${y.label}: ${fy(q[1])}`))(p)}` });
        });
      }
      // A rising curve leaves room above its left and below its right; names give way to each other.
      const rows = [];
      for (const m of marks) {
        const words = clip(m.text, Math.max(12, Math.floor(width / 14)));
        const mx = sx.at(m.x), my = sy.at(m.y), long = words.length * 6.6 + 12;
        const above = m.above && mx - long > box.left, end = above || mx + long > box.right;
        let top = my + (above ? -9 : 20);
        const start = end ? mx - 10 - long : mx + 10;
        while (rows.some((r) => Math.abs(r.top - top) < 15 && r.start < start + long && r.start + r.long > start)) top += 16;
        rows.push({ top, start, long });
        root.append(svg("line", { class: "guide", x1: mx, x2: mx, y1: my, y2: box.bottom }));
        root.append(svg("circle", { class: `ring s${m.index % 8} solid`, cx: mx, cy: my, r: 5 }));
        root.append(text(mx + (end ? -10 : 10), top, words, { class: "strong halo", "text-anchor": end ? "end" : "start" }));
      }
      readable(root, points, width);
      return [root, legend(series)].filter(Boolean);
    });
  }

  function columns(host, { label, values, x, y, height = 270 }) {
    place(host, (width) => {
      const root = frame(width, height, label);
      const box = { left: 48, right: width - 12, top: 26, bottom: height - 42 };
      const low = values[0][0], high = values[values.length - 1][0];
      const sx = scale({ ...x, min: low - 0.5, max: high + 0.5, whole: true }, [], box.left, box.right);
      const sy = scale({ ...y, min: 0 }, values.map((v) => v[1]), box.bottom, box.top);
      axes(root, x, y, sx, sy, box);
      const wide = Math.max(1.5, Math.min(28, ((box.right - box.left) / (high - low + 1)) * 0.78));
      const points = values.map(([v, n]) => {
        const top = sy.at(n);
        root.append(svg("rect", { class: "f0", x: sx.at(v) - wide / 2, y: top, width: wide, height: box.bottom - top }));
        return { x: sx.at(v), y: top, text: `${x.label}: ${number(v)}\n${y.label}: ${number(n)}` };
      });
      readable(root, points, width);
      return [root];
    });
  }

  // Bars from the left, the name above each; rows: {label, index, value, shown}
  function bars(host, { label, rows }) {
    place(host, (width) => {
      const height = rows.length * 40 + 4, root = frame(width, height, label);
      const most = Math.max(...rows.map((r) => r.value || 0), 1e-12);
      const points = rows.map((r, i) => {
        const y = i * 40, long = Math.max(((r.value || 0) / most) * (width - 80), 1);
        root.append(text(0, y + 13, clip(r.label, Math.floor(width / 7)), {}));
        root.append(svg("rect", { class: `f${r.index % 8}`, x: 0, y: y + 19, width: long, height: 14, rx: 2 }));
        root.append(text(long + 8, y + 31, r.shown, { class: "value" }));
        return { x: long, y: y + 26, text: `${r.label}\n${r.shown}` };
      });
      readable(root, points, width);
      return [root];
    });
  }

  // rows: {label, index, box: {least, low, median, high, most}}
  function boxes(host, { label, rows, x, marks = [] }) {
    place(host, (width) => {
      const height = rows.length * 46 + 56, root = frame(width, height, label);
      const box = { left: 4, right: width - 14, top: 0, bottom: height - 42 };
      const ends = rows.flatMap((r) => [r.box.least, r.box.most]).concat(marks.map((m) => m.x));
      const sx = scale({ ...x, min: Math.min(0, ...ends) }, ends, box.left, box.right);
      axes(root, x, { label: "" }, sx, { ticks: [] }, box);
      for (const m of marks) {
        root.append(svg("line", { class: "guide", x1: sx.at(m.x), x2: sx.at(m.x), y1: 0, y2: box.bottom }));
      }
      const points = [];
      rows.forEach((r, i) => {
        const y = i * 46 + 32, c = `s${r.index % 8} solid`, b = r.box;
        root.append(text(box.left, y - 14, clip(r.label, Math.floor(width / 7)), { class: "halo" }));
        root.append(svg("line", { class: `line ${c}`, x1: sx.at(b.least), x2: sx.at(b.most), y1: y, y2: y }));
        for (const end of [b.least, b.most])
          root.append(svg("line", { class: `line ${c}`, x1: sx.at(end), x2: sx.at(end), y1: y - 5, y2: y + 5 }));
        root.append(svg("rect", { class: `f${r.index % 8}`, x: sx.at(b.low), y: y - 8, width: Math.max(sx.at(b.high) - sx.at(b.low), 1), height: 16, rx: 2 }));
        root.append(svg("line", { x1: sx.at(b.median), x2: sx.at(b.median), y1: y - 8, y2: y + 8, stroke: "var(--paper)", "stroke-width": 2 }));
        for (const [key, word] of [["least", "least"], ["low", "lower quartile"], ["median", "median"], ["high", "upper quartile"], ["most", "most"]])
          points.push({ x: sx.at(b[key]), y, text: `${r.label}\n${word}: ${number(b[key])}` });
      });
      readable(root, points, width);
      return [root];
    });
  }

  // Three measures on three axes; rows: {label, index, shares: [3], shown: [3]}
  function triangle(host, { label, corners, rows }) {
    place(host, (width) => {
      const r = Math.min(width * 0.42, 176), height = r * 1.5 + 66, root = frame(width, height, label);
      const cx = width / 2, cy = r + 32;
      const angle = [-90, 30, 150].map((d) => (d * Math.PI) / 180);
      const at = (k, share) => [cx + Math.cos(angle[k]) * r * share, cy + Math.sin(angle[k]) * r * share];
      const path = (shares) => `M${shares.map((s, k) => at(k, s).join(",")).join("L")}Z`;
      for (const share of [0.25, 0.5, 0.75, 1]) root.append(svg("path", { class: "grid", fill: "none", d: path([share, share, share]) }));
      corners.forEach((name, k) => {
        root.append(svg("line", { class: "axis", x1: cx, y1: cy, x2: at(k, 1)[0], y2: at(k, 1)[1] }));
        const [x, y] = at(k, 1);
        root.append(text(k === 0 ? x : k === 1 ? Math.min(x + 40, width) : Math.max(x - 40, 0), y + (k === 0 ? -10 : 20), name, { class: "halo", "text-anchor": ["middle", "end", "start"][k] }));
      });
      const points = [];
      for (const row of rows) {
        const shares = row.shares.map((s) => s ?? 1);
        root.append(svg("path", { class: line(row.index), d: path(shares) }));
        shares.forEach((s, k) => {
          const [x, y] = at(k, s);
          root.append(svg("circle", { class: `f${row.index % 8}`, cx: x, cy: y, r: 3.5 }));
          points.push({ x, y, text: `${row.label}\n${corners[k]}: ${row.shown[k]}` });
        });
      }
      readable(root, points, width);
      return [root, legend(rows)].filter(Boolean);
    });
  }

  return { xy, columns, bars, boxes, triangle, place, frame, text, scale, axes };
})();
