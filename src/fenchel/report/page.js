"use strict";
// What lies under the pointer, and which lines are shown. Everything else is in the page already.
function share(axis, value) {
  const at = axis.log ? Math.log10 : Number;
  if (value === null || (axis.log && value <= 0)) return NaN;
  const part = (at(value) - at(axis.limits[0])) / (at(axis.limits[1]) - at(axis.limits[0]));
  return axis.falling ? 1 - part : part;
}

function places(felt) {
  const [left, top, width, height] = felt.box;
  return felt.traces.flatMap((trace) => trace.x.map((x, i) => ({
    name: trace.name, x, y: trace.y[i],
    px: left + width * share(felt.x, x), py: top + height * (1 - share(felt.y, trace.y[i])),
  }))).filter((point) => point.py >= top - 3 && point.py <= top + height + 3);
}

function written(value) {
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e7)) return value.toExponential(3);
  return Number.isInteger(value) ? value.toLocaleString("en") : String(Number(value.toPrecision(7)));
}

function line(tag, text) {
  const element = document.createElement(tag);
  element.textContent = text;
  return element;
}

for (const charts of document.querySelectorAll(".charts")) {
  const chosen = new Set();
  const shown = (name) => chosen.size === 0 || chosen.has(name);
  const chips = charts.querySelectorAll("button.chip");
  function refresh() {
    for (const chip of chips) chip.setAttribute("aria-pressed", chosen.has(chip.dataset.name));
    for (const group of charts.querySelectorAll("g[data-run]"))
      group.classList.toggle("away", !shown(group.dataset.run));
  }
  for (const chip of chips) chip.addEventListener("click", (event) => {
    const name = chip.dataset.name, alone = chosen.size === 1 && chosen.has(name);
    if (event.shiftKey || event.ctrlKey || event.metaKey) {
      if (!chosen.delete(name)) chosen.add(name);
    } else {
      chosen.clear();
      if (!alone) chosen.add(name);
    }
    refresh();
  });
  for (const panel of charts.querySelectorAll(".panel")) {
    const felt = JSON.parse(panel.querySelector("script").textContent);
    const svg = panel.querySelector("svg"), near = panel.querySelector(".near");
    const tip = panel.appendChild(document.createElement("div"));
    tip.className = "tip";
    tip.hidden = true;
    let points = null;
    function hide() {
      tip.hidden = true;
      near.setAttribute("visibility", "hidden");
    }
    function seek(event) {
      points ??= places(felt);
      const frame = svg.getBoundingClientRect(), scale = frame.width / svg.viewBox.baseVal.width;
      const x = (event.clientX - frame.left) / scale, y = (event.clientY - frame.top) / scale;
      let best = null, least = 40 * 40;
      for (const point of points) {
        const far = (point.px - x) ** 2 + (point.py - y) ** 2;
        if (far < least && shown(point.name)) [best, least] = [point, far];
      }
      if (best === null) return hide();
      near.setAttribute("cx", best.px);
      near.setAttribute("cy", best.py);
      near.setAttribute("visibility", "visible");
      tip.replaceChildren(
        line("b", best.name),
        line("div", `${felt.y.label}: ${written(best.y)}`),
        line("div", `${felt.x.label}: ${written(best.x)}`),
      );
      tip.hidden = false;
      const left = best.px * scale + 10, room = frame.width - tip.offsetWidth;
      tip.style.left = `${Math.max(0, Math.min(left, room))}px`;
      const above = best.py * scale - tip.offsetHeight - 8;
      tip.style.top = `${above < 0 ? best.py * scale + 12 : above}px`;
    }
    svg.addEventListener("pointermove", seek);
    svg.addEventListener("pointerdown", seek);
    svg.addEventListener("pointerleave", hide);
  }
}
