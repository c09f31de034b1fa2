"use strict";
// The charts of overlays, workloads and runs, by the name that the page gives them.

const OverlayCharts = (() => {
  const { number, percent, plural } = Core;

  const note = (figure, words) => {
    const caption = figure.querySelector("figcaption");
    let p = caption.querySelector("p");
    if (!p) caption.append((p = document.createElement("p")));
    p.textContent = words;
  };

  function support(figure, host, { overlays }) {
    const series = overlays.map((o, index) => ({ label: o.label, index, points: o.support_curve.points }));
    const marks = [];
    overlays.forEach((o, index) => {
      const { knee, eighty_percent: many } = o.support_curve;
      const one = overlays.length === 1;
      if (knee) marks.push({ index, x: knee.links, y: knee.support, text: one ? `knee: ${plural(knee.links, "link")}, ${percent(knee.support)}` : `knee of ${o.label}` });
      if (many && one) marks.push({ index, x: many.links, y: many.support, text: `80% with ${percent(many.share_of_links)} of the links`, above: true });
    });
    if (overlays.every((o) => o.headline.links === 0)) {
      note(figure, "There is no link.");
      host.remove();
      return;
    }
    const { knee, eighty_percent: many } = overlays[0].support_curve;
    const first = overlays.length > 1 ? `${overlays[0].label}: ` : "";
    note(figure, (knee ? `${first}${first ? "the" : "The"} first ${percent(knee.share_of_links)} of the links bring ${percent(knee.support)} of the support; beyond that knee links bring less than on average.`
      : `${first}${first ? "no" : "No"} knee, each link brings about as much as any other.`) +
      (many ? ` ${percent(many.share_of_links)} of them bring 80%.` : ""));
    Charts.xy(host, { label: "Support against links added", series, marks, height: 320,
      x: { label: "links added", min: 0, whole: true }, y: { label: "support", min: 0, max: 1, format: percent } });
  }

  function degree(figure, host, { overlays }) {
    if (overlays.length === 1) {
      const d = overlays[0].degree;
      note(figure, `Mean ${number(d.mean, 3)}, median ${number(d.median)}, most ${number(d.most)}.`);
      if (d.most <= 200) {
        Charts.columns(host, { label: "Links per node", values: d.histogram, x: { label: "links" }, y: { label: "nodes" } });
        return;
      }
    } else note(figure, "Nodes with at least this many links.");
    ccdf(host, "Links per node", "links", "nodes", overlays.map((o, index) => ({ label: o.label, index, points: o.degree.ccdf })));
  }

  function ccdf(host, label, x, of, series, log = true) {
    const all = series.flatMap((s) => s.points);
    const most = Math.max(...all.map((p) => p[0]), 1);
    // Logarithms show a tail; where there is none they would only mislead.
    const curved = log && most > 12 && Math.min(...all.map((p) => p[1])) < 0.5;
    // From the left edge at 100% to the first value, and down after the last: said by no one point.
    const left = curved ? Math.min(...all.map((p) => p[0]).filter((v) => v > 0)) : 0;
    const bottom = curved ? Math.min(...all.map((p) => p[1])) : 0;
    const whole = series.map((s) => {
      const points = s.points.filter((p) => p[0] > 0);
      if (!points.length) return { ...s, points };
      const start = points[0][0] > left ? [[left, points[0][1], 1, "silent"]] : [];
      return { ...s, points: [...start, ...points, [points[points.length - 1][0], bottom, 1, "silent"]] };
    });
    Charts.xy(host, { label, series: whole, kind: "step",
      x: { label: x, log: curved, whole: true, min: curved ? undefined : 0 },
      y: { label: `share of ${of} with at least`, log: curved, max: 1, min: curved ? undefined : 0, format: percent } });
  }

  function against(figure, host, overlays, key, label) {
    const one = overlays.length === 1, values = overlays.map((o) => o.topic_sizes[key]);
    const all = values.flatMap((v) => v.dots);
    if (key === "components" && all.every((p) => p[1] === 1)) {
      note(figure, "Every topic with two subscribers or more is in one component.");
      host.remove();
      return;
    }
    if (!all.length) {
      note(figure, key === "diameter" ? "No topic is connected." : "No topic has two subscribers.");
      host.remove();
      return;
    }
    const large = Math.max(...all.map((p) => p[0]), 2) > 30;
    note(figure, one ? "A dot is as large as the number of topics there." : "Means over topics of about the same size.");
    const pieces = overlays.reduce((sum, o) => sum + o.topic_sizes.n_in_pieces, 0);
    if (key === "diameter" && pieces) note(figure, `${figure.querySelector("p").textContent} Disconnected topics have no diameter and are left out.`);
    const bounded = overlays.reduce((sum, o) => sum + o.topic_sizes.n_diameters_bounded, 0);
    if (key === "diameter" && bounded) note(figure, `${figure.querySelector("p").textContent} Of ${plural(bounded, "large topic")} the diameter is an upper bound.`);
    Charts.xy(host, { label, kind: one ? "dots" : "line",
      series: overlays.map((o, index) => ({ label: o.label, index, points: one ? values[index].dots : values[index].means,
        tell: (p) => `${one ? "" : "about "}${number(p[0])} subscribers\n${label}: ${number(p[1])}\n${plural(p[2], "topic")}` })),
      x: { label: "subscribers", log: large }, y: key === "components" ? { label, min: 1, max: Math.max(2, ...values.flatMap((v) => (one ? v.dots : v.means).map((p) => p[1]))) } : { label, min: 0, whole: true } });
  }

  // Links against the maximum degree: the plans of frontiers, the bounds, and where others lie.
  function frontier(figure, host, { frontiers, overlays }) {
    const complete = (f) => f.points.filter((p) => p.connected);
    const all = frontiers.flatMap(complete);
    if (!all.length) {
      note(figure, "No plan connects every topic.");
      host.remove();
      return;
    }
    const series = frontiers.map((f, index) => {
      const byName = new Map(complete(f).map((p) => [p.overlay, p]));
      const points = [...byName.values()].sort((a, b) => a.degree - b.degree);
      return { label: f.label, index, points: points.map((p) => [p.degree, p.links, 1, p.overlay]),
        tell: (p) => `${p[3]}\n${plural(p[1], "link")}, maximum degree ${number(p[0])}` };
    });
    const drawn = new Set(all.map((p) => p.overlay));
    const known = [
      ...overlays.filter((o) => o.certificate.connected && !drawn.has(o.label)).map((o) => ({ name: o.label, links: o.headline.links, degree: o.headline.maximum_fan_out })),
      ...frontiers[0].others.filter((o) => o.connected).map((o) => ({ ...o, name: o.method })),
    ].filter((o, i, list) => list.findIndex((other) => other.links === o.links && other.degree === o.degree) === i);
    // What is far away would leave no room for the curve; the table has it.
    const most = { links: 3 * Math.max(...all.map((p) => p.links)), degree: 3 * Math.max(...all.map((p) => p.degree)) };
    const near = known.filter((o) => o.links <= most.links && o.degree <= most.degree);
    const far = known.filter((o) => !near.includes(o)).map((o) => `${o.name} (${plural(o.links, "link")}, degree ${number(o.degree)})`);
    if (far.length) note(figure, `${figure.querySelector("p").textContent} Too far away to be shown: ${far.join(", ")}.`);
    const links = Math.max(...all.map((p) => p.bound_links)), degree = Math.max(...all.map((p) => p.bound_degree));
    const shown = [...all, ...near];
    const top = Math.max(links + 1, ...shown.map((p) => p.links)), right = Math.max(degree + 1, ...shown.map((p) => p.degree));
    series.push({ label: "bound", index: frontiers.length, points: [[degree, top, 1, "silent"], [degree, links], [right, links, 1, "silent"]],
      tell: () => `no complete plan has fewer than ${plural(links, "link")}\nor a maximum degree below ${number(degree)}` });
    Charts.xy(host, { label: "Links against maximum degree", series, height: 360,
      marks: near.map((o) => ({ index: frontiers.length + 1, x: o.degree, y: o.links, text: o.name })),
      x: { label: "maximum degree", min: Math.max(degree - 1, 0), max: right, whole: true }, y: { label: "links", min: Math.floor(links * 0.9), max: top, whole: true } });
  }

  const runBars = (key, shown) => (figure, host, { runs }) => Charts.bars(host, { label: key,
    rows: runs.map((r, index) => ({ label: `${r.label}: ${r.routing} on ${r.overlay}`, index, value: r.totals[key], shown: shown(r.totals[key]) })) });

  const runCcdf = (key, label, of) => (figure, host, { runs }) =>
    ccdf(host, label, label, of, runs.map((r, index) => ({ label: r.label, index, points: (r[key] || { ccdf: [] }).ccdf })).filter((s) => s.points.length), key !== "longest_path");

  return {
    support, degree, frontier,
    diameter: (figure, host, s) => against(figure, host, s.overlays, "diameter", "diameter"),
    components: (figure, host, s) => against(figure, host, s.overlays, "components", "components"),
    "topics-per-node": (figure, host, s) => ccdf(host, "Topics per node", "topics", "nodes", [{ label: "", index: 0, points: s.workload.topics_per_node.ccdf }]),
    "subscribers-per-topic": (figure, host, s) => ccdf(host, "Subscribers per topic", "subscribers", "topics", [{ label: "", index: 0, points: s.workload.subscribers_per_topic.ccdf }]),
    "run-overhead": runBars("overhead_per_delivery", (v) => number(v, 3)),
    "run-paths": runBars("hops_mean", (v) => `${number(v, 3)} hops`),
    "run-load-max": runBars("load_max", (v) => number(v)),
    "run-overhead-ccdf": runCcdf("overhead_per_publication", "receptions", "publications"),
    "run-path-ccdf": runCcdf("longest_path", "hops", "publications"),
    "run-load-ccdf": runCcdf("load", "messages", "nodes"),
  };
})();
