"use strict";
// The picture of an overlay on a canvas: zoom, pan, hover, and a node or topic that lights up.

const Picture = (() => {
  const { el, number, percent, plural, isolated, clip, tip, colour, onRepaint } = Core;
  const SERIES = 8, NAMES = 70, STRONGEST = 3;

  // What lights up with a topic: its members, the links among them, and the parts they form.
  function lit(section, overlay, topic) {
    const members = section.workload.subscribers && section.workload.subscribers[topic];
    if (!members) return { members: null, inside: [], part: new Map() };
    const parent = new Map(members.map((v) => [v, v]));
    const root = (v) => {
      while (parent.get(v) !== v) {
        parent.set(v, parent.get(parent.get(v)));
        v = parent.get(v);
      }
      return v;
    };
    const inside = [];
    if (overlay.edges) {
      const { one, other } = overlay.edges;
      for (let e = 0; e < one.length; e += 1)
        if (parent.has(one[e]) && parent.has(other[e])) {
          inside.push(e);
          parent.set(root(one[e]), root(other[e]));
        }
    }
    const sizes = new Map();
    for (const v of members) sizes.set(root(v), (sizes.get(root(v)) || 0) + 1);
    const rank = new Map([...sizes].sort((a, b) => b[1] - a[1] || a[0] - b[0]).map(([r], i) => [r, i]));
    return { members, inside, part: new Map(members.map((v) => [v, overlay.edges ? rank.get(root(v)) : 0])) };
  }

  function neighboursOf(overlay, node) {
    const found = [];
    if (overlay.edges) {
      const { one, other } = overlay.edges;
      for (let e = 0; e < one.length; e += 1) {
        if (one[e] === node) found.push(other[e]);
        else if (other[e] === node) found.push(one[e]);
      }
    }
    return found;
  }

  // Of each group its strongest links: all of them would hide each other.
  function strongest(links, n) {
    if (links.kept) return links.kept;
    const of = Array.from({ length: n }, () => []);
    links.count.forEach((_, e) => { of[links.one[e]].push(e); of[links.other[e]].push(e); });
    const kept = new Set(of.flatMap((all) => all.sort((a, b) => links.count[b] - links.count[a] || a - b).slice(0, STRONGEST)));
    links.kept = [...kept].sort((a, b) => a - b);
    return links.kept;
  }

  function show(root, section) {
    const canvas = root.querySelector("canvas"), pen = canvas.getContext("2d");
    const { workload, overlays } = section;
    const nodeName = (v) => (workload.node_names ? workload.node_names[v] : `node ${v}`);
    const topicName = (t) => (workload.topic_names ? workload.topic_names[t] : `topic ${t}`);
    const state = { overlay: 0, choice: null, light: null, near: null, lost: null, hover: -1, zoom: 1, x: 0, y: 0 };
    const size = { width: 0, height: 0 };
    const overlay = () => overlays[state.overlay];
    const drawing = () => overlay().picture;

    // From the drawing's units to pixels: the whole fits at zoom 1.
    function fit() {
      const { x, y, radius } = drawing();
      let [left, right, top, bottom] = [Infinity, -Infinity, Infinity, -Infinity];
      for (let i = 0; i < x.length; i += 1) {
        const r = radius ? radius[i] : 0;
        left = Math.min(left, x[i] - r); right = Math.max(right, x[i] + r);
        top = Math.min(top, y[i] - r); bottom = Math.max(bottom, y[i] + r);
      }
      if (!x.length) [left, right, top, bottom] = [0, 1, 0, 1];
      const room = 1 - 2 * Math.min(46 / Math.min(size.width, size.height), 0.2);
      const by = Math.min(size.width / Math.max(right - left, 1), size.height / Math.max(bottom - top, 1)) * room;
      return { by, cx: (left + right) / 2, cy: (top + bottom) / 2 };
    }
    let base = null;
    const scaleOf = () => base.by * state.zoom;
    const px = (x) => (x - base.cx) * scaleOf() + size.width / 2 + state.x;
    const py = (y) => (y - base.cy) * scaleOf() + size.height / 2 + state.y;

    const dot = (i) => {
      const { radius, x } = drawing();
      if (radius) return Math.max(radius[i] * scaleOf(), 3);
      const few = Math.min(1.6, Math.max(0.5, Math.sqrt(260 / x.length)));
      return Math.min(1, 0.45 + size.width / 1600) * (2.2 + 1.15 * Math.sqrt(Math.min(overlay().degree.of_node[i], 120))) * few * Math.min(Math.sqrt(state.zoom), 2.2);
    };

    function resize() {
      const box = canvas.getBoundingClientRect(), ratio = devicePixelRatio || 1;
      if (!box.width) return;
      size.width = box.width; size.height = box.height;
      canvas.width = Math.round(box.width * ratio); canvas.height = Math.round(box.height * ratio);
      base = fit();
      paint();
    }

    let waiting = false;
    function paint() {
      if (waiting || !base) return;
      waiting = true;
      requestAnimationFrame(() => { waiting = false; draw(); });
    }

    function line(i, j) {
      const { x, y } = drawing();
      pen.moveTo(px(x[i]), py(y[i]));
      pen.lineTo(px(x[j]), py(y[j]));
    }

    function disc(i, fill, stroke, grow = 1) {
      const { x, y } = drawing();
      pen.beginPath();
      pen.arc(px(x[i]), py(y[i]), dot(i) * grow, 0, 7);
      if (fill) { pen.fillStyle = fill; pen.fill(); }
      if (stroke) { pen.strokeStyle = stroke; pen.stroke(); }
    }

    function draw() {
      const ratio = devicePixelRatio || 1, ink = colour("ink"), paper = colour("paper"), edge = colour("edge");
      const hues = Array.from({ length: SERIES }, (_, i) => colour(`s${i}`));
      pen.setTransform(ratio, 0, 0, ratio, 0, 0);
      pen.fillStyle = paper;
      pen.fillRect(0, 0, size.width, size.height);
      if (drawing().of === "groups") drawGroups({ ink, paper, edge, hues });
      else drawNodes({ ink, paper, edge, hues });
      pen.globalAlpha = 1;
    }

    // Of a running mesh: the width of a link is what it carries now; what is down is dashed.
    const wrong = (v) => Boolean(overlay().live) && overlay().live.wrong(v);
    function drawTraffic({ rates, down }, one, other, hues) {
      const most = Math.max(...rates, 1);
      pen.globalAlpha = 0.75;
      for (let e = 0; e < one.length; e += 1) {
        if (!rates[e] && !down[e]) continue;
        pen.strokeStyle = hues[down[e] ? 1 : 0];
        pen.lineWidth = down[e] ? 1.5 : 1 + 5 * Math.sqrt(rates[e] / most);
        pen.setLineDash(down[e] ? [5, 5] : []);
        pen.beginPath(); line(one[e], other[e]); pen.stroke();
      }
      pen.setLineDash([]);
    }

    function drawNodes({ ink, paper, edge, hues }) {
      const { x } = drawing(), { one, other } = overlay().edges || { one: [], other: [] }, { light, near, lost, choice } = state;
      const dim = light || near, crowd = Math.min(1, 900 / Math.max(one.length, 1));
      pen.lineWidth = 1;
      pen.strokeStyle = edge;
      pen.globalAlpha = dim ? 0.13 : 0.16 + 0.74 * crowd;
      pen.beginPath();
      for (let e = 0; e < one.length; e += 1) line(one[e], other[e]);
      pen.stroke();
      if (overlay().live && !dim) drawTraffic(overlay().live, one, other, hues);
      pen.globalAlpha = 1;
      pen.lineWidth = 2;
      if (light)
        for (const e of light.inside) {
          pen.strokeStyle = hues[light.part.get(one[e]) % SERIES];
          pen.beginPath(); line(one[e], other[e]); pen.stroke();
        }
      if (near) {
        pen.strokeStyle = hues[0];
        pen.beginPath();
        for (const v of near) line(choice.id, v);
        pen.stroke();
      }
      const bright = light ? (v) => light.part.has(v) : near ? (v) => v === choice.id || near.has(v) || lost.cut.has(v) : () => true;
      pen.lineWidth = x.length > 400 ? 0.6 : 1.2;
      for (let v = 0; v < x.length; v += 1) if (!bright(v)) { pen.globalAlpha = 0.28; disc(v, edge, null); }
      pen.globalAlpha = 1;
      for (let v = 0; v < x.length; v += 1)
        if (bright(v)) disc(v, hues[light ? light.part.get(v) % SERIES : near && v === choice.id ? 1 : near && lost.cut.has(v) ? 3 : wrong(v) ? 1 : 0], x.length > 800 ? null : paper, dim ? 1.25 : 1);
      pen.lineWidth = 2;
      if (state.hover >= 0) disc(state.hover, null, ink, 1.6);
      // Names: of what is chosen first, then by links, where there is room.
      const order = Array.from(x.keys()).filter(bright).sort((a, b) => overlay().degree.of_node[b] - overlay().degree.of_node[a] || a - b);
      if (near) order.sort((a, b) => (b === choice.id) - (a === choice.id));
      names(order, ink, paper, nodeName, x.length <= 400 || (dim && order.length < 200) || state.zoom > 2 ? NAMES : 0, { bright });
    }

    function drawGroups({ ink, paper, edge, hues }) {
      const { x, size: held, links, group } = drawing(), { light, near, choice } = state;
      const most = Math.max(...links.count, 1), wide = (n) => 0.5 + 4.5 * Math.sqrt(n / most);
      const own = choice && choice.kind === "node" ? group[choice.id] : -1;
      pen.strokeStyle = edge;
      for (const e of strongest(links, held.length)) {
        pen.globalAlpha = light || own >= 0 ? 0.12 : 0.25 + 0.45 * (links.count[e] / most);
        pen.lineWidth = wide(links.count[e]);
        pen.beginPath(); line(links.one[e], links.other[e]); pen.stroke();
      }
      pen.globalAlpha = 0.85;
      if (light && overlay().edges) {
        const top = Math.max(...light.between.count, 1);
        for (const e of strongest(light.between, held.length)) {
          pen.strokeStyle = hues[0];
          pen.globalAlpha = 0.25 + 0.5 * (light.between.count[e] / top);
          pen.lineWidth = 0.8 + 5 * Math.sqrt(light.between.count[e] / top);
          pen.beginPath(); line(light.between.one[e], light.between.other[e]); pen.stroke();
        }
      }
      if (near) {
        const counts = new Map();
        for (const v of near) counts.set(group[v], (counts.get(group[v]) || 0) + 1);
        pen.strokeStyle = hues[0];
        for (const [g, n] of counts) { pen.lineWidth = 1 + n; pen.beginPath(); line(own, g); pen.stroke(); }
      }
      for (let g = 0; g < x.length; g += 1) {
        pen.globalAlpha = 1;
        pen.lineWidth = 1.2;
        pen.setLineDash(drawing().parts[g] > 1 ? [4, 4] : []);
        disc(g, paper, g === own ? hues[1] : edge);
        pen.setLineDash([]);
        pen.globalAlpha = light ? 0.1 : 0.22;
        disc(g, hues[0], null);
        pen.globalAlpha = 1;
        if (g === own) { pen.lineWidth = 3; disc(g, null, hues[1]); }
        // The part of a group that wants the topic, as a part of its area.
        if (light && light.count[g]) disc(g, hues[0], null, Math.sqrt(light.count[g] / held[g]));
      }
      if (state.hover >= 0) { pen.lineWidth = 2; disc(state.hover, null, ink, 1.08); }
      const order = Array.from(x.keys());
      if (own >= 0) order.sort((a, b) => (b === own) - (a === own));
      if (!light) names(order, ink, paper, (g) => number(held[g]), held.length, { inside: true });
    }

    function names(order, ink, paper, name, most, { inside = false, bright = () => true } = {}) {
      const { x, y } = drawing(), taken = [];
      // Few enough dots: no name may cover one that is not faded.
      const dots = inside || x.length > 400 ? [] : Array.from(x.keys()).filter(bright).map((i) => [px(x[i]), py(y[i]), dot(i) + 1, i]);
      const free = ([a, b, c, d], own) => a > 2 && c < size.width - 2 && b > 2 && d < size.height - 2 &&
        !taken.some((t) => a < t[2] && c > t[0] && b < t[3] && d > t[1]) &&
        !dots.some(([u, v, r, i]) => i !== own && u + r > a && u - r < c && v + r > b && v - r < d);
      pen.font = "12px system-ui, sans-serif";
      pen.textBaseline = "middle";
      pen.textAlign = "left";
      pen.lineJoin = "round";
      let n = 0;
      for (const i of order) {
        if (n >= most) break;
        const r = dot(i), cx = px(x[i]), cy = py(y[i]);
        if (cx < 0 || cx > size.width || cy < 0 || cy > size.height) continue;
        const text = clip(name(i), 28);
        const width = pen.measureText(text).width;
        if (inside && width > r * 2.1) continue;
        const middle = cx - width / 2;
        const sides = [[cx + r + 5, cy], [cx - r - 5 - width, cy], [middle, cy - r - 10], [middle, cy + r + 10]];
        // Around a ring names stand outside.
        if (drawing().layout === "ring" && x[i] < base.cx) sides.unshift(sides.splice(1, 1)[0]);
        const places = inside ? [[middle, cy]] : sides;
        const box = ([left, top]) => [left - 2, top - 8, left + width + 2, top + 8];
        const spot = places.find((p) => free(box(p), i));
        if (!spot) continue;
        taken.push(box(spot));
        n += 1;
        if (!inside) { pen.lineWidth = 3.5; pen.strokeStyle = paper; pen.strokeText(text, ...spot); }
        pen.fillStyle = ink;
        pen.fillText(text, ...spot);
      }
    }

    function describe(i) {
      const o = overlay(), { light, choice } = state;
      if (drawing().of === "nodes") {
        const wants = light ? `\n${light.part.has(i) ? "wants" : "does not want"} ${isolated(topicName(choice.id))}` : "";
        return `${nodeName(i)}\n${plural(o.degree.of_node[i], "link")}, ${plural(workload.topics_of_node[i], "topic")}${wants}${o.live ? o.live.words(i) : ""}`;
      }
      const { size: held, links_inside: inside } = drawing();
      const wants = light && light.members ? `\n${number(light.count[i])} want ${isolated(topicName(choice.id))}` : "";
      const topic = drawing().common_topic[i];
      const common = topic === null ? "" : `\n${percent(drawing().common_share[i])} want ${isolated(topic)}, ${percent(drawing().common_share_of_all[i])} of all nodes do`;
      const parts = drawing().parts[i];
      const what = parts > 1 ? `in ${number(parts)} separate parts` : `around ${isolated(drawing().head[i])}`;
      return `${plural(held[i], "node")} ${what}\n${plural(inside[i], "link")} among them${wants || common}`;
    }

    function choose(choice) {
      state.choice = choice;
      state.named = choice && (choice.kind === "node" ? nodeName : topicName)(choice.id);
      PictureInput.mark(root, choice, state.named);
      state.light = state.near = state.lost = null;
      const o = overlay();
      if (choice && choice.kind === "topic") {
        state.light = lit(section, o, choice.id);
        if (drawing().of === "groups") {
          const { group, size: held } = drawing(), count = new Array(held.length).fill(0), between = new Map();
          for (const v of state.light.members || []) count[group[v]] += 1;
          for (const e of state.light.inside) {
            const a = group[o.edges.one[e]], b = group[o.edges.other[e]];
            if (a !== b) {
              const pair = Math.min(a, b) * held.length + Math.max(a, b);
              between.set(pair, (between.get(pair) || 0) + 1);
            }
          }
          const pairs = [...between.keys()];
          Object.assign(state.light, { count, between: { one: pairs.map((p) => Math.floor(p / held.length)), other: pairs.map((p) => p % held.length), count: pairs.map((p) => between.get(p)) } });
        }
      }
      if (choice && choice.kind === "node") {
        state.near = new Set(neighboursOf(o, choice.id));
        state.lost = Failure.without(section, o, choice.id);
      }
      tell();
      paint();
    }

    // Debris that no link joins is gathered in one disc, which is no group of well-linked nodes.
    function loose() {
      const { parts, size: held } = drawing(), g = parts.findIndex((n) => n > 1);
      return g < 0 || drawing().layout === "ring" ? "" : ` The dashed disc gathers ${plural(held[g], "node")} in ${number(parts[g])} separate parts.`;
    }

    const description = root.querySelector(".description");
    function tell() {
      const o = overlay(), { choice } = state;
      if (!choice) {
        const grouped = drawing().of === "groups"
          ? `${number(workload.n_nodes)} nodes in ${number(drawing().size.length)} groups${drawing().layout === "ring" ? ` along the ring, about ${number(Math.round(workload.n_nodes / drawing().size.length))} in each` : " of well-linked nodes; a larger disc has more, the number says how many"}. The width of a line is the links between two groups, drawn for the strongest.${loose()}`
          : `${plural(workload.n_nodes, "node")}, ${plural(o.headline.links, "link")}${drawing().layout === "ring" ? ", in the order of the ring" : "; a larger dot has more links"}${o.live ? ", a wider line carries more messages now" : ""}.`;
        const how = o.topics ? "Point at one, or choose a topic to see its subscribers." : "There are too many nodes and topics to list here.";
        const bare = !o.edges && drawing().of === "nodes" ? " There are too many links to draw here." : "";
        const which = overlays.length > 1 ? [el("b", {}, o.label), ": "] : [];
        description.replaceChildren(el("p", { class: "what" }, ...which, `${grouped}${bare} ${how}`));
      } else if (choice.kind === "node") {
        const near = [...state.near].sort((a, b) => o.degree.of_node[b] - o.degree.of_node[a] || a - b).map((v) => isolated(nodeName(v)));
        const some = near.slice(0, 8).join(", ") + (near.length > 8 ? ` and ${number(near.length - 8)} more` : "");
        description.replaceChildren(el("p", {}, el("b", {}, nodeName(choice.id)), ` has ${plural(o.degree.of_node[choice.id], "link")} and wants ${plural(workload.topics_of_node[choice.id], "topic")}.`),
          el("p", { class: "what" }, near.length ? `Linked to ${some}.` : o.edges ? "It has no links." : "There are too many links to list here."), Failure.words(state.lost, topicName));
      } else {
        const t = choice.id, c = o.topics, parts = c.components[t], n = workload.subscribers_of_topic[t];
        const low = c.diameter_low[t], high = c.diameter_high[t], wide = low === high ? number(low) : `${number(low)} to ${number(high)}`;
        const how = n < 2 ? "nothing to connect" : parts === 1 ? `connected, diameter ${wide}`
          : `in ${number(parts)} components, the largest with ${percent(c.largest[t] / n)} of them; largest diameter ${wide}`;
        description.replaceChildren(el("p", {}, el("b", {}, topicName(t)), `: ${plural(n, "subscriber")}, ${plural(c.links[t], "link")} among them, ${how}.`),
          el("p", { class: "what" }, !state.light.members ? "It has too many subscribers to list here."
            : !o.edges ? "There are too many links to draw here."
            : parts > 1 && drawing().of === "nodes" ? `Each component has a colour of its own${parts > SERIES ? "; they repeat" : ""}.` : drawing().of === "groups" ? "The filled part of a disc is the part of its nodes that want the topic." : "Nodes that do not want the topic are faded."));
      }
    }

    function zoomAt(factor, x = size.width / 2, y = size.height / 2) {
      const next = Math.min(40, Math.max(0.5, state.zoom * factor)), by = next / state.zoom;
      state.x = (state.x + size.width / 2 - x) * by + x - size.width / 2;
      state.y = (state.y + size.height / 2 - y) * by + y - size.height / 2;
      state.zoom = next;
      paint();
    }
    function whole() { Object.assign(state, { zoom: 1, x: 0, y: 0 }); paint(); }

    function at(x, y) {
      const p = drawing();
      let best = -1, least = Infinity;
      for (let i = 0; i < p.x.length; i += 1) {
        const d = Math.hypot(px(p.x[i]) - x, py(p.y[i]) - y) - dot(i);
        if (d < least) [best, least] = [i, d];
      }
      return least < (p.radius ? 0 : 9) ? best : -1;
    }

    function centre(i) {
      const { x, y } = drawing();
      state.x += size.width / 2 - px(x[i]);
      state.y += size.height / 2 - py(y[i]);
      paint();
    }

    PictureInput.listen({ root, canvas, state, at, describe, choose, zoomAt, whole, paint, tip, drawing });
    PictureInput.search({ root, workload, nodeName, topicName,
      details: (kind, id) => (kind === "node" ? plural(overlay().degree.of_node[id], "link") : plural(workload.subscribers_of_topic[id], "subscriber")),
      pick: (choice) => {
        choose(choice);
        if (choice && choice.kind === "node" && state.zoom > 1) centre(drawing().of === "groups" ? drawing().group[choice.id] : choice.id);
      } });
    PictureInput.chips({ root, workload, overlay, topicName, choose });
    root.querySelectorAll("[data-overlay]").forEach((button) => button.addEventListener("click", () => {
      root.querySelectorAll("[data-overlay]").forEach((b) => b.setAttribute("aria-pressed", String(b === button)));
      Object.assign(state, { overlay: Number(button.dataset.overlay), hover: -1, zoom: 1, x: 0, y: 0 });
      base = fit();
      PictureInput.chips({ root, workload, overlay, topicName, choose });
      choose(state.choice);
    }));
    new ResizeObserver(resize).observe(canvas);
    onRepaint(() => { if (base) draw(); });
    resize();
    choose(null);
    draw();
    // Where a node is on the screen: for those who drive the page by program.
    root.where = (name) => {
      const v = workload.node_names.indexOf(name), i = drawing().of === "groups" ? drawing().group[v] : v;
      const box = canvas.getBoundingClientRect();
      return { x: box.left + px(drawing().x[i]), y: box.top + py(drawing().y[i]) };
    };
    root.lit = () => ({ choice: state.choice, members: state.light ? (state.light.members || []).length : 0, links: state.light ? state.light.inside.length : 0, cut: state.lost ? state.lost.cut.size : 0, zoom: state.zoom });

    // The section has other content: what was chosen stays so, if it is still there.
    function renew() {
      const { choice, named } = state, names = choice && (choice.kind === "node" ? workload.node_names : workload.topic_names);
      const id = names ? names.indexOf(named) : -1;
      state.hover = -1;
      if (size.width) base = fit();
      PictureInput.chips({ root, workload, overlay, topicName, choose });
      choose(id < 0 ? null : { kind: choice.kind, id });
    }
    return { paint, renew };
  }

  return { show };
})();
