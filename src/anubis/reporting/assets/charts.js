/* Replaces the image of each figure by a chart that zooms: drag to zoom, double click or Escape to see everything. */
(function () {
  "use strict";
  function colour(name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); }
  function nearest(xs, x) {
    var low = 0, high = xs.length - 1;
    while (high - low > 1) { var middle = (low + high) >> 1; if (xs[middle] < x) low = middle; else high = middle; }
    return x - xs[low] < xs[high] - x ? low : high;
  }
  function shown(value) { return value == null ? "missing" : String(+value.toPrecision(6)); }
  function marks(u, data) {
    var context = u.ctx, box = u.bbox;
    function px(x) { return u.valToPos(x, "x", true); }
    function py(y) { return u.valToPos(y, "y", true); }
    context.save();
    context.beginPath(); context.rect(box.left, box.top, box.width, box.height); context.clip();
    data.levels.forEach(function (level) {
      var left = px(level[0]), right = Math.max(px(level[1]), left + 2);
      if (level[3] != null && level[4] != null) {
        context.globalAlpha = 0.16; context.fillStyle = colour("--chart-band");
        context.fillRect(left, py(level[4]), right - left, py(level[3]) - py(level[4]));
      }
      context.globalAlpha = 1; context.strokeStyle = colour("--chart-level"); context.lineWidth = 2 * devicePixelRatio;
      context.beginPath(); context.moveTo(left, py(level[2])); context.lineTo(right, py(level[2])); context.stroke();
    });
    data.changes.forEach(function (change) {
      context.globalAlpha = 0.12; context.fillStyle = colour("--chart-muted");
      context.fillRect(px(change[1]), box.top, px(change[2]) - px(change[1]), box.height);
      context.globalAlpha = 1; context.strokeStyle = context.fillStyle = colour("--" + change[3]);
      context.setLineDash([4 * devicePixelRatio, 3 * devicePixelRatio]);
      context.beginPath(); context.moveTo(px(change[0]), box.top); context.lineTo(px(change[0]), box.top + box.height); context.stroke();
      context.setLineDash([]); context.font = 11 * devicePixelRatio + "px system-ui"; context.textAlign = "left";
      context.fillText(change[4], px(change[0]) + 4 * devicePixelRatio, box.top + 12 * devicePixelRatio);
    });
    data.baselines.forEach(function (x) {
      context.strokeStyle = colour("--chart-muted"); context.setLineDash([devicePixelRatio, 3 * devicePixelRatio]);
      context.beginPath(); context.moveTo(px(x), box.top); context.lineTo(px(x), box.top + box.height); context.stroke();
    });
    context.setLineDash([]); context.strokeStyle = colour("--unsure"); context.fillStyle = colour("--chart-paper");
    data.disturbed.forEach(function (at) {
      if (data.y[at] == null) return;
      context.beginPath(); context.arc(px(data.x[at]), py(data.y[at]), 3.5 * devicePixelRatio, 0, 7); context.fill(); context.stroke();
    });
    context.restore();
  }
  function attach(figure) {
    var source = figure.querySelector(".chart-data"), image = figure.querySelector("svg");
    if (!source || !image || figure.dataset.attached || typeof uPlot === "undefined") return;
    var data = JSON.parse(source.textContent);
    if (data.x.length < 2) return;
    figure.dataset.attached = "yes";
    var line = document.createElement("p");
    line.className = "chart-value"; line.setAttribute("aria-live", "polite");
    var width = figure.clientWidth || 720, chart;
    function describe(at) {
      line.textContent = at == null ? "" : [data.labels[at], shown(data.y[at]) + " " + data.unit,
        data.time ? new Date(data.x[at] * 1000).toISOString().slice(0, 16).replace("T", " ") + " UTC" : "",
        data.disturbed.indexOf(at) < 0 ? "" : "disturbed"].filter(Boolean).join("   ");
    }
    chart = new uPlot({
      title: data.title, width: width, height: 260, legend: { show: false },
      scales: { x: { time: data.time } }, tzDate: function (at) { return uPlot.tzDate(new Date(at * 1000), "Etc/UTC"); },
      cursor: { drag: { x: true, y: false, uni: 20 } },
      axes: [
        { stroke: function () { return colour("--chart-muted"); }, grid: { stroke: function () { return colour("--chart-grid"); } },
          values: data.time ? undefined : function (u, ticks) {
            return ticks.map(function (x) { return x % 1 ? "" : (data.labels[nearest(data.x, x)] || "").slice(0, 12); }); }, space: 110 },
        { stroke: function () { return colour("--chart-muted"); }, grid: { stroke: function () { return colour("--chart-grid"); } }, size: 70 }
      ],
      series: [{}, { spanGaps: false, stroke: function () { return colour("--chart-line"); }, width: 0.6,
        points: { show: data.x.length < 2000, size: 5, stroke: function () { return colour("--chart-dot"); }, fill: function () { return colour("--chart-dot"); } } }],
      hooks: {
        drawClear: [], draw: [function (u) { marks(u, data); }],
        setCursor: [function (u) { describe(u.cursor.idx); }],
        setScale: [function (u, key) {
          if (key === "x") reset.hidden = u.scales.x.min <= data.x[0] && u.scales.x.max >= data.x[data.x.length - 1]; }]
      }
    }, [data.x, data.y], function (u, start) { image.hidden = true; image.style.display = "none"; figure.appendChild(u.root); start(); });
    var reset = document.createElement("button");
    reset.type = "button"; reset.className = "chart-reset"; reset.textContent = "Show all"; reset.hidden = true;
    function everything() { chart.setScale("x", { min: data.x[0], max: data.x[data.x.length - 1] }); }
    function zoom(factor, shift) {
      var min = chart.scales.x.min, max = chart.scales.x.max, middle = (min + max) / 2 + shift * (max - min), half = (max - min) * factor / 2;
      chart.setScale("x", { min: Math.max(data.x[0], middle - half), max: Math.min(data.x[data.x.length - 1], middle + half) });
    }
    reset.addEventListener("click", everything);
    figure.appendChild(reset); figure.appendChild(line);
    figure.tabIndex = 0; figure.setAttribute("role", "group");
    figure.setAttribute("aria-label", image.getAttribute("aria-label") + " Keys: plus and minus zoom, arrows move, Escape shows all.");
    figure.addEventListener("keydown", function (event) {
      if (event.key === "+") zoom(0.5, 0); else if (event.key === "-") zoom(2, 0); else if (event.key === "Escape") everything();
      else if (event.key === "ArrowLeft") zoom(1, -0.25); else if (event.key === "ArrowRight") zoom(1, 0.25); else return;
      event.preventDefault();
    });
    if (data.link) chart.over.addEventListener("click", function () {
      var at = chart.cursor.idx;
      if (at != null && data.runs[at] && chart.select.width < 2) location.href = data.link + encodeURIComponent(data.runs[at]);
    });
    window.addEventListener("resize", function () { chart.setSize({ width: figure.clientWidth || 720, height: 260 }); });
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", function () { chart.redraw(false); });
    window.addEventListener("beforeprint", function () { image.hidden = false; image.style.display = ""; chart.root.style.display = "none"; });
    window.addEventListener("afterprint", function () { image.hidden = true; image.style.display = "none"; chart.root.style.display = ""; });
  }
  window.anubisCharts = function (root) { (root || document).querySelectorAll('[data-chart="series"]').forEach(attach); };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", function () { window.anubisCharts(); });
  else window.anubisCharts();
})();
