"use strict";
// What everything shares: reading the data, making elements, numbers in words, the tip, the theme.

const Core = (() => {
  // The reverse of packing.py: groups of seven bits, zigzag, differences.
  function decode(text) {
    const raw = atob(text);
    const out = [];
    let value = 0, factor = 1, last = 0;
    for (let i = 0; i < raw.length; i += 1) {
      const byte = raw.charCodeAt(i);
      value += (byte & 127) * factor;
      if (byte & 128) {
        factor *= 128;
      } else {
        last += value % 2 ? -(value + 1) / 2 : value / 2;
        out.push(last);
        value = 0;
        factor = 1;
      }
    }
    return out;
  }

  function unpack(value) {
    if (Array.isArray(value)) return value.map(unpack);
    if (value === null || typeof value !== "object") return value;
    if (typeof value.$i === "string") return decode(value.$i);
    if (Array.isArray(value.$l)) {
      const lengths = decode(value.$l[0]), values = decode(value.$l[1]);
      let at = 0;
      return lengths.map((n) => (n < 0 ? null : values.slice(at, (at += n))));
    }
    const out = {};
    for (const key of Object.keys(value)) out[key] = unpack(value[key]);
    return out;
  }

  // Names are the user's: they become text nodes and never markup.
  function el(tag, attributes = {}, ...children) {
    const node = document.createElement(tag);
    for (const [key, value] of Object.entries(attributes)) {
      if (key === "on") for (const [event, f] of Object.entries(value)) node.addEventListener(event, f);
      else if (value !== null && value !== undefined && value !== false) node.setAttribute(key, value);
    }
    node.append(...children.filter((c) => c !== null && c !== undefined));
    return node;
  }

  function svg(tag, attributes = {}, ...children) {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    node.append(...children);
    return node;
  }

  function number(value, digits = 4) {
    if (value === null || value === undefined) return "–";
    if (Number.isInteger(value) || Math.abs(value) >= 1000) return Math.round(value).toLocaleString("en-US");
    return String(Number(value.toPrecision(digits)));
  }

  function percent(value) {
    if (value === null || value === undefined) return "–";
    if (value === 0 || value === 1) return `${value * 100}%`;
    if (value > 1) return `${number(Math.round(value * 100))}%`;
    const shown = value > 0 && value < 1 ? Math.min(Math.max(value, 0.001), 0.999) : value;
    return `${(shown * 100).toFixed(1).replace(".0", "")}%`;
  }

  // A name among other words: those of scripts from right to left must not turn what follows.
  const isolated = (name) => `\u2068${name}\u2069`;
  const clip = (name, most) => {
    const letters = [...name];
    return letters.length > most ? `${letters.slice(0, most - 1).join("")}…` : name;
  };

  const plural = (n, one, many) => `${number(n)} ${n === 1 ? one : many || `${one}s`}`;

  const tipBox = document.getElementById("tip");
  function tip(text, x, y) {
    if (!text) {
      tipBox.hidden = true;
      return;
    }
    tipBox.textContent = text;
    tipBox.hidden = false;
    const box = tipBox.getBoundingClientRect();
    const left = Math.min(Math.max(8, x + 14), innerWidth - box.width - 8);
    const top = y + 18 + box.height > innerHeight ? y - box.height - 12 : y + 18;
    tipBox.style.left = `${left}px`;
    tipBox.style.top = `${Math.max(4, top)}px`;
  }

  const repaint = [];
  const onRepaint = (f) => repaint.push(f);
  const paintAll = () => repaint.forEach((f) => f());

  function colour(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  }

  function theme() {
    const button = document.getElementById("theme");
    const system = matchMedia("(prefers-color-scheme: dark)");
    const root = document.documentElement;
    const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
    const show = () => {
      button.textContent = isDark() ? "Light" : "Dark";
      button.setAttribute("aria-label", `Switch to ${isDark() ? "light" : "dark"} colours`);
      paintAll();
    };
    button.addEventListener("click", () => {
      root.dataset.theme = isDark() ? "light" : "dark";
      show();
    });
    system.addEventListener("change", show);
    matchMedia("print").addEventListener("change", paintAll);
    addEventListener("beforeprint", paintAll);
    addEventListener("afterprint", paintAll);
    show();
  }

  return { unpack, el, svg, number, percent, plural, isolated, clip, tip, onRepaint, colour, theme };
})();
