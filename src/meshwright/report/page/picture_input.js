"use strict";
// How people reach the picture: pointer, keys, search, and topics worth a look.

const PictureInput = (() => {
  const { el } = Core;
  const FOUND = 12;

  function listen({ root, canvas, state, at, describe, choose, zoomAt, whole, paint, tip, drawing }) {
    const place = (event) => {
      const box = canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    const fingers = new Map();
    let start = null, moved = false, spread = 0;
    const apart = () => {
      const [a, b] = [...fingers.values()];
      return Math.hypot(a[0] - b[0], a[1] - b[1]);
    };
    canvas.addEventListener("pointerdown", (event) => {
      fingers.set(event.pointerId, place(event));
      canvas.setPointerCapture(event.pointerId);
      start = place(event);
      moved = false;
      if (fingers.size === 2) spread = apart();
    });
    canvas.addEventListener("pointermove", (event) => {
      const [x, y] = place(event);
      if (fingers.has(event.pointerId)) {
        const [ox, oy] = fingers.get(event.pointerId);
        fingers.set(event.pointerId, [x, y]);
        if (fingers.size === 2) {
          const [a, b] = [...fingers.values()], now = apart();
          // The middle of the fingers moves half as far as one of them.
          state.x += (x - ox) / 2;
          state.y += (y - oy) / 2;
          zoomAt(now / Math.max(spread, 1), (a[0] + b[0]) / 2, (a[1] + b[1]) / 2);
          spread = now;
          moved = true;
          return;
        }
        if (Math.hypot(x - start[0], y - start[1]) > 4) moved = true;
        if (moved) {
          canvas.classList.add("dragging");
          state.x += x - ox;
          state.y += y - oy;
          tip("");
          paint();
          return;
        }
      }
      const i = at(x, y);
      if (i !== state.hover) { state.hover = i; paint(); }
      tip(i < 0 ? "" : describe(i), event.clientX, event.clientY);
    });
    const up = (event) => {
      const held = fingers.delete(event.pointerId);
      canvas.classList.remove("dragging");
      if (!held || moved || event.type === "pointercancel") return;
      const i = at(...place(event));
      if (i < 0) choose(null);
      else if (drawing().of === "nodes") choose({ kind: "node", id: i });
      else tip(describe(i), event.clientX, event.clientY);
    };
    canvas.addEventListener("pointerup", up);
    canvas.addEventListener("pointercancel", up);
    canvas.addEventListener("pointerleave", () => { state.hover = -1; tip(""); paint(); });
    // The wheel scrolls the page unless the picture has been entered or Ctrl is held.
    canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey && document.activeElement !== canvas) return;
      event.preventDefault();
      zoomAt(Math.exp(-event.deltaY * 0.0015), ...place(event));
    }, { passive: false });
    canvas.addEventListener("dblclick", (event) => zoomAt(2, ...place(event)));
    canvas.addEventListener("keydown", (event) => {
      const pan = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] }[event.key];
      if (pan) { state.x += pan[0]; state.y += pan[1]; paint(); }
      else if (event.key === "+" || event.key === "=") zoomAt(1.4);
      else if (event.key === "-") zoomAt(1 / 1.4);
      else if (event.key === "0") whole();
      else if (event.key === "Escape") choose(null);
      else return;
      event.preventDefault();
    });
    root.querySelectorAll("[data-zoom]").forEach((button) => button.addEventListener("click", () => {
      if (button.dataset.zoom === "reset") whole();
      else zoomAt(button.dataset.zoom === "in" ? 1.5 : 1 / 1.5);
    }));
  }

  // Those that begin with what was typed come first.
  function matches(names, kind, words) {
    const first = [], then = [];
    if (names)
      for (let id = 0; id < names.length && first.length < FOUND; id += 1) {
        const at = names[id].toLowerCase().indexOf(words);
        if (at === 0) first.push({ kind, id });
        else if (at > 0 && then.length < FOUND) then.push({ kind, id });
      }
    return first.concat(then).slice(0, FOUND);
  }

  // The field and the buttons say what is chosen, however it was.
  function mark(root, choice, name) {
    const input = root.querySelector("input");
    if (document.activeElement !== input || choice) input.value = choice ? name : "";
    root.querySelectorAll(".chips button").forEach((button) =>
      button.setAttribute("aria-pressed", String(choice !== null && choice.kind === "topic" && Number(button.dataset.topic) === choice.id)));
  }

  function search({ root, workload, nodeName, topicName, details, pick }) {
    const input = root.querySelector("input"), list = root.querySelector("ul");
    let found = [], current = -1;
    const close = () => { list.hidden = true; input.setAttribute("aria-expanded", "false"); input.removeAttribute("aria-activedescendant"); };
    const take = (choice) => {
      input.value = choice.kind === "node" ? nodeName(choice.id) : topicName(choice.id);
      close();
      pick(choice);
    };
    const mark = () => [...list.children].forEach((li, i) => {
      li.setAttribute("aria-selected", String(i === current));
      if (i === current) { input.setAttribute("aria-activedescendant", li.id); li.scrollIntoView({ block: "nearest" }); }
    });
    const look = () => {
      const words = input.value.trim().toLowerCase();
      if (!words) { close(); pick(null); return; }
      const nodes = matches(workload.node_names, "node", words), topics = matches(workload.topic_names, "topic", words);
      const share = Math.max(FOUND / 2, FOUND - topics.length);
      found = nodes.slice(0, share).concat(topics.slice(0, FOUND - Math.min(nodes.length, share)));
      current = found.length ? 0 : -1;
      list.replaceChildren(...(found.length ? found.map((choice, i) => el("li", { role: "option", id: `${list.id}-${i}`,
        on: { pointerdown: (event) => { event.preventDefault(); take(choice); } } },
        el("span", {}, choice.kind === "node" ? nodeName(choice.id) : topicName(choice.id)), el("span", {}, `${choice.kind}, ${details(choice.kind, choice.id)}`)))
        : [el("li", { class: "none" }, "No node or topic has this in its name.")]));
      list.hidden = false;
      input.setAttribute("aria-expanded", "true");
      mark();
    };
    input.addEventListener("input", look);
    input.addEventListener("focus", () => { if (input.value.trim()) look(); });
    input.addEventListener("blur", close);
    input.addEventListener("keydown", (event) => {
      if (event.key === "Escape") { input.value = ""; close(); pick(null); }
      if (list.hidden || !found.length) return;
      if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        current = (current + (event.key === "ArrowDown" ? 1 : found.length - 1)) % found.length;
        mark();
      } else if (event.key === "Enter") take(found[current]);
      else return;
      event.preventDefault();
    });
  }

  function chips({ root, workload, overlay, topicName, choose }) {
    if (!overlay().topics) return;
    const sizes = workload.subscribers_of_topic, { components, diameter_high: wide } = overlay().topics;
    const best = (score, keep, n = 4) => Array.from(sizes.keys()).filter(keep).sort((a, b) => score(b) - score(a) || a - b).slice(0, n);
    const rows = [
      ["Largest topics", best((t) => sizes[t], (t) => sizes[t] > 1)],
      ["In most components", best((t) => components[t], (t) => components[t] > 1)],
      ["Widest", best((t) => wide[t], (t) => wide[t] > 1 && components[t] === 1)],
    ].filter(([, topics]) => topics.length);
    root.querySelector(".chips").replaceChildren(...rows.map(([word, topics]) => el("div", {}, el("span", {}, word),
      ...topics.map((id) => el("button", { type: "button", "data-topic": id, "aria-pressed": "false", on: { click: () => choose({ kind: "topic", id }) } }, topicName(id))))));
  }

  return { listen, mark, search, chips };
})();
