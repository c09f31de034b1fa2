"use strict";
// The page of a running mesh: asks the planner every two seconds, and shows what changed.

(() => {
  const { el, svg, number, percent, plural, isolated, clip, unpack, theme } = Core;
  const PAUSE = 2000, MOST_ROWS = 200, MOST_LINKS = 15, FULL = 0.8;
  const at = (id) => document.getElementById(id);
  const section = { workload: {}, overlays: [{}] };
  let drawn = null, shown = null, asking = false;

  const rate = (value) => (value === null || value === undefined ? "–" : value === 0 ? "0" : value < 10 ? value.toFixed(1) : number(Math.round(value)));
  const clock = (seconds) => new Date(seconds * 1000).toLocaleTimeString("en-GB");
  const bytes = (n) => (n < 1e3 ? `${n} B` : n < 1e6 ? `${number(n / 1e3, 3)} KB` : n < 1e9 ? `${number(n / 1e6, 3)} MB` : `${number(n / 1e9, 3)} GB`);
  const sum = (values) => values.reduce((a, b) => a + b, 0);
  const span = (seconds) => (seconds < 120 ? plural(Math.round(seconds), "second") : seconds < 7200 ? plural(Math.round(seconds / 60), "minute") : seconds < 172800 ? plural(Math.round(seconds / 3600), "hour") : plural(Math.round(seconds / 86400), "day"));
  const cell = (text, kind = "n") => el("td", { class: kind }, text);
  const head = (...names) => el("thead", {}, el("tr", {}, ...names.map((name, i) => el("th", { scope: "col", class: i && name[0] !== "*" ? "n" : null }, name.replace("*", "")))));
  const LONGEST = 48;
  const short = (name) => clip(name, LONGEST);
  const row = (name, ...cells) => el("tr", {}, el("th", { scope: "row", title: name.length > LONGEST ? name : null }, short(name)), ...cells);

  // What is wrong with a broker: words, or null.
  function trouble(broker, live) {
    if (broker.away) return "out of reach";
    if (!broker.connected) return "agent not connected";
    if (!broker.seen) return null;
    if (!broker.seen.broker_up) return "broker down";
    if (!broker.seen.follows) return "interests unknown";
    if (live.version[1] - broker.seen.version > 50) return "behind in the log";
    return null;
  }
  const share = (store) => Math.max(store[0] / Math.max(store[2], 1), store[1] / Math.max(store[3], 1));

  function held(store) {
    if (!store) return cell("–");
    const part = share(store), bar = svg("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" }, svg("rect", { width: part * 100, height: 10 }));
    return el("td", { class: "n", title: `${number(store[0])} of ${number(store[2])} messages, ${bytes(store[1])} of ${bytes(store[3])}` },
      number(store[0]), el("span", { class: part > FULL ? "meter full" : "meter" }, bar));
  }

  function findings(live) {
    const found = [];
    if (live.retired) found.push("This planner has given up: another one took over. Stop one of the two.");
    for (const broker of live.brokers) {
      const name = isolated(short(broker.name)), what = trouble(broker, live);
      if (what) found.push(`${name}: ${what}.`);
      if (broker.seen) for (const store of ["journal", "mailbox"]) {
        const part = share(broker.seen[store]);
        if (part > FULL) found.push(`${name}: its ${store} is ${percent(part)} full.`);
      }
    }
    const down = live.links.filter((link) => !link[4]).length;
    if (down) found.push(`${plural(down, "link")} of the plan cannot be used; messages take other ways.`);
    return found;
  }

  function top(live) {
    const known = live.brokers.filter((b) => b.rates), seen = live.brokers.filter((b) => b.seen);
    const [taken, delivered, relayed] = [0, 1, 2].map((i) => sum(known.map((b) => b.rates[i])));
    const links = sum(live.links.map((link) => (link[2] || 0) + (link[3] || 0)));
    const journal = sum(seen.map((b) => b.seen.journal[0])), mailbox = sum(seen.map((b) => b.seen.mailbox[0]));
    const up = live.brokers.filter((b) => b.connected && !b.away && (!b.seen || b.seen.broker_up)).length;
    at("clock").textContent = `Living mesh, ${clock(live.now)}`;
    at("clock").classList.remove("bad");
    at("name").textContent = live.mesh;
    document.title = `${live.mesh} · Meshwright mesh`;
    at("sizes").textContent = `${plural(live.n_brokers, "broker")}, ${plural(live.n_links, "link")}, ${plural(live.n_interests, "interest")}; version ${live.version.join(".")} of the log; planner ${live.software}, up for ${span(live.now - live.started)}`;
    const wrong = findings(live);
    at("lede").replaceChildren(...(wrong.length
      ? [el("strong", {}, plural(wrong.length, "thing")), ` ${wrong.length === 1 ? "needs" : "need"} a look.`]
      : !live.n_brokers ? ["The planner waits for the first agent."]
      : [el("strong", {}, `All ${number(live.n_brokers)} brokers`), " are reached. ",
        known.length ? el("strong", {}, `${rate(delivered)} messages a second`) : "", known.length ? " arrive where clients want them" : "", journal + mailbox ? `; ${plural(journal + mailbox, "message")} wait on disk.` : known.length ? ", and nothing waits." : ""]));
    at("findings").hidden = !wrong.length;
    at("findings").replaceChildren(...wrong.slice(0, 12).map((text) => el("li", {}, text)), ...(wrong.length > 12 ? [el("li", {}, `and ${number(wrong.length - 12)} more`)] : []));
    const card = (title, value, unit, note) => el("div", {}, el("dt", {}, title), el("dd", {}, value, " ", el("small", {}, unit)), el("dd", { class: "note" }, note));
    at("cards").replaceChildren(
      card("Brokers", number(up), `of ${number(live.n_brokers)}`, "reached, with their agents"),
      card("Published by clients", rate(taken), "a second", "taken by agents, because others want it"),
      card("Delivered", rate(delivered), "a second", links ? `${rate(links)} over links, ${rate(relayed)} by relays` : "at brokers whose clients want it"),
      card("Waiting on disk", number(journal + mailbox), journal + mailbox === 1 ? "message" : "messages", `${number(journal)} in journals, ${number(mailbox)} in mailboxes`));
  }

  function brokers(live) {
    const order = [...live.brokers].sort((a, b) => Boolean(trouble(b, live)) - Boolean(trouble(a, live)) || a.name.localeCompare(b.name, "en", { numeric: true }));
    const rows = order.slice(0, MOST_ROWS).map((b) => {
      const what = trouble(b, live), [taken, delivered, relayed] = b.rates || [null, null, null], seen = b.seen;
      return row(b.name, el("td", { class: `state ${what ? "bad" : "good"}` }, what || (b.leaving ? "leaving" : seen ? "up" : "up, not heard yet")), cell(number(b.links)), cell(number(b.wants)), cell(rate(taken)), cell(rate(delivered)), cell(rate(relayed)),
        held(seen && seen.journal), held(seen && seen.mailbox), cell(seen ? number(seen.version) : "–"), cell(seen ? seen.software : "–"));
    });
    if (live.n_brokers > rows.length) rows.push(row(`and ${number(live.n_brokers - rows.length)} more`, cell("mesh status --json lists all", "state")));
    at("brokers").replaceChildren(head("broker", "*state", "links", "wants", "taken/s", "published/s", "relayed/s", "journal", "mailbox", "log version", "Meshwright"), el("tbody", {}, ...rows));
  }

  function links(live) {
    const names = new Map(live.brokers.map((b) => [b.node, b.name])), name = (node) => names.get(node) || `broker ${node}`;
    const order = [...live.links].sort((a, b) => a[4] - b[4] || (b[2] || 0) + (b[3] || 0) - (a[2] || 0) - (a[3] || 0));
    const rows = order.slice(0, MOST_LINKS).map(([u, v, to, from, up]) =>
      el("tr", {}, el("th", { scope: "row", title: `${isolated(name(u))} – ${isolated(name(v))}` }, `${isolated(short(name(u)))} – ${isolated(short(name(v)))}`), el("td", { class: `state ${up ? "good" : "bad"}` }, up ? "up" : "down"), cell(rate(to)), cell(rate(from))));
    if (order.length > MOST_LINKS) rows.push(row(`and ${number(order.length - MOST_LINKS)} more`, cell("", "state")));
    at("links").replaceChildren(head("link", "*state", "messages/s to the second", "to the first"), el("tbody", {}, ...rows));
  }

  function drift(live) {
    const { drift: d } = live, command = el("code", {}, `meshwright ${live.command}`);
    if (!d) { at("drift").textContent = "A design from scratch is being made, to compare."; return; }
    const same = d.added === 0 && d.removed === 0;
    at("drift").replaceChildren(...(same
      ? ["The overlay is what a design from scratch would be: ", el("b", {}, plural(d.links, "link")), "."]
      : ["A design from scratch would have ", el("b", {}, plural(d.links, "link")), ` instead of ${number(d.kept + d.removed)}, with ${number(d.max_degree)} at most at one agent: it keeps ${number(d.kept)}, adds ${number(d.added)} and removes ${number(d.removed)}. To take it:`, el("br"), command]),
      el("br"), `Computed at ${clock(d.at)}.`);
  }

  function events(live) {
    at("events").replaceChildren(el("tbody", {}, ...(live.events.length ? live.events.map(([when, who, what]) =>
      el("tr", {}, el("td", {}, clock(when)), el("td", {}, short(who)), el("td", {}, clip(what, 400)))) : [el("tr", {}, el("td", {}, "Nothing happened since the planner started."))])));
  }

  function losses(overlay) {
    const found = overlay.losses;
    at("losses").replaceChildren();
    at("verdict").className = "verdict good";
    if (!found) at("verdict").textContent = "There are too many interests to compute it here.";
    else if (!found.worst.length) at("verdict").replaceChildren(el("span", { "aria-hidden": "true" }, "✓"), " No agent's loss splits the brokers of a filter.");
    else {
      at("verdict").textContent = "";
      at("losses").replaceChildren(el("caption", {}, `${plural(found.n_topics, "filter")} can be split, by the loss of one of ${plural(found.n_nodes, "agent")}`),
        head("losing", "filters split", "brokers cut off", "deliveries lost"),
        el("tbody", {}, ...found.worst.slice(0, 5).map((w) => row(w.node, cell(number(w.topics)), cell(number(w.subscribers)), cell(number(w.deliveries))))));
    }
    at("dependence").replaceChildren(...(overlay.dependence ? overlay.dependence.sentences.map((text) => el("p", { class: "note" }, text)) : []));
  }

  // The figures of this moment on the picture: widths of links, colours of brokers.
  function onPicture(live) {
    if (!shown) return;
    const overlay = section.overlays[0], places = new Map(section.numbers.map((node, i) => [node, i]));
    const of = new Map(live.links.map((link) => [[places.get(link[0]), places.get(link[1])].sort((a, b) => a - b).join(" "), link]));
    const mine = overlay.edges ? overlay.edges.one.map((u, e) => of.get([u, overlay.edges.other[e]].sort((a, b) => a - b).join(" "))) : [];
    const state = [];
    for (const broker of live.brokers) state[places.get(broker.node)] = { wrong: trouble(broker, live), rates: broker.rates };
    overlay.live = {
      rates: mine.map((link) => (link ? (link[2] || 0) + (link[3] || 0) : 0)),
      down: mine.map((link) => Boolean(link) && !link[4]),
      wrong: (i) => Boolean(state[i] && state[i].wrong),
      words: (i) => (!state[i] ? "" : state[i].wrong ? `\n${state[i].wrong}` : state[i].rates ? `\n${rate(state[i].rates[0])} a second taken, ${rate(state[i].rates[1])} published` : ""),
    };
    shown.paint();
  }

  async function ask(path) {
    const answer = await fetch(path, { cache: "no-store", credentials: "same-origin" });
    if (!answer.ok) throw new Error(`${answer.status}`);
    return answer.json();
  }

  async function picture(live) {
    const key = live.picture.join("."), old = at("drawing");
    old.hidden = drawn !== null && !live.picture_is_old;
    if (drawn !== null) old.textContent = `The plan has other links by now; they are drawn in a moment. The picture is of version ${key}.`;
    if (key === drawn) return;
    const made = await ask("/picture");
    if (!made) return;
    const found = unpack(made);
    Object.assign(section.workload, found.workload);
    section.overlays[0] = found.overlays[0];
    section.numbers = found.numbers;
    section.overlays[0].live = { rates: [], down: [], wrong: () => false, words: () => "" };
    old.hidden = !live.picture_is_old;
    at("picture").hidden = false;
    if (shown) shown.renew();
    else shown = Picture.show(at("picture"), section);
    losses(section.overlays[0]);
    drawn = key;
  }

  async function look() {
    if (asking || document.hidden) return;
    asking = true;
    try {
      const live = await ask("/live");
      top(live); brokers(live); links(live); drift(live); events(live);
      await picture(live);
      onPicture(live);
      document.body.classList.remove("old");
      document.documentElement.dataset.drawn = String(Number(document.documentElement.dataset.drawn || 0) + 1);
    } catch (error) {
      at("clock").textContent = `The planner does not answer (${error.message}); messages go on without it. What is below is old.`;
      at("clock").classList.add("bad");
      document.documentElement.dataset.lost = "true";
    } finally {
      asking = false;
    }
  }

  theme();
  look();
  setInterval(look, PAUSE);
  document.addEventListener("visibilitychange", look);
})();
