"use strict";
// Reads the data once and gives every chart and picture its part.

(() => {
  const started = performance.now();
  const data = Core.unpack(JSON.parse(document.getElementById("data").textContent));
  const builders = { ...OverlayCharts, ...AssignmentCharts.charts };
  for (const figure of document.querySelectorAll("[data-chart]"))
    builders[figure.dataset.chart](figure, figure.querySelector(".plot"), data.sections[Number(figure.dataset.section)]);
  for (const root of document.querySelectorAll("[data-picture]")) Picture.show(root, data.sections[Number(root.dataset.section)]);
  for (const root of document.querySelectorAll("[data-filters]")) AssignmentCharts.filters(root, data.sections[Number(root.dataset.section)]);
  Core.theme();
  document.documentElement.dataset.drawn = String(Math.round(performance.now() - started));
})();
