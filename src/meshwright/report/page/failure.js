"use strict";
// What falls apart when a node is lost: the topics that its loss splits, and who is cut off.

const Failure = (() => {
  const { el, number, plural, isolated } = Core;
  const NAMED = 5;

  // The members of a topic without a node, in parts: of each its members, the largest first.
  function parts({ workload }, overlay, topic, node) {
    const left = new Set((workload.subscribers[topic] || []).filter((v) => v !== node));
    const near = new Map([...left].map((v) => [v, []]));
    const { one, other } = overlay.edges;
    for (let e = 0; e < one.length; e += 1)
      if (left.has(one[e]) && left.has(other[e])) {
        near.get(one[e]).push(other[e]);
        near.get(other[e]).push(one[e]);
      }
    const found = [];
    while (left.size) {
      const part = [left.values().next().value];
      left.delete(part[0]);
      for (const v of part) for (const w of near.get(v)) if (left.delete(w)) part.push(w);
      found.push(part);
    }
    return found.sort((a, b) => b.length - a.length || Math.min(...a) - Math.min(...b));
  }

  // `topics` are split; `cut` says for each node outside of a largest part in how many topics.
  function without(section, overlay, node) {
    const splits = overlay.losses && overlay.losses.splits;
    const topics = splits ? splits[node] : null, cut = new Map();
    if (topics && overlay.edges && section.workload.subscribers)
      for (const t of topics)
        for (const part of parts(section, overlay, t, node).slice(1))
          for (const v of part) cut.set(v, (cut.get(v) || 0) + 1);
    return { topics, cut };
  }

  function words({ topics, cut }, topicName) {
    if (!topics) return "";
    if (!topics.length) return el("p", { class: "what lost" }, "Its loss would split no topic.");
    const some = topics.slice(0, NAMED).map((t) => isolated(topicName(t))).join(", ") + (topics.length > NAMED ? ` and ${number(topics.length - NAMED)} more` : "");
    return el("p", { class: "what lost" }, `Its loss would split ${plural(topics.length, "topic")}: ${some}. ` +
      (cut.size ? `${plural(cut.size, "node")}, in another colour, would be cut off from the larger part.` : ""));
  }

  return { without, words };
})();
