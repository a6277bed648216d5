// Draws a panel once it comes near the screen, and all that are drawn again if the colours change.
const dark = window.matchMedia("(prefers-color-scheme: dark)");
const drawn = new Set();

function coloured(text) {
  const ink = dark.matches ? "#e4e4e4" : "#222";
  const line = dark.matches ? "#777" : "#888";
  const guide = {labelColor: ink, titleColor: ink, domainColor: line, tickColor: line};
  const chart = JSON.parse(dark.matches ? text.replaceAll('"#222222"', `"${ink}"`) : text);
  chart.title.color = ink;
  Object.assign(chart.config.axis, guide);
  Object.assign(chart.config.legend, guide);
  return chart;
}

function draw(panel) {
  drawn.add(panel);
  panel.text ??= panel.querySelector("script").textContent;
  return vegaEmbed(panel, coloured(panel.text), {actions: false, renderer: "svg"});
}

const near = new IntersectionObserver((entries) => {
  for (const {isIntersecting, target} of entries) {
    if (isIntersecting && !drawn.has(target)) draw(target);
  }
}, {rootMargin: "600px"});
const panels = [...document.querySelectorAll(".panel")];
panels.forEach((panel) => near.observe(panel));
dark.addEventListener("change", () => drawn.forEach(draw));
window.drawAll = () => Promise.all(panels.map(draw)).then(() => panels.length);
window.addEventListener("beforeprint", window.drawAll);
