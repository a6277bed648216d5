// Draws a panel once it comes near the screen, and all that are drawn again if the colours change.
const dark = window.matchMedia("(prefers-color-scheme: dark)");
const drawn = new Set();

function coloured(chart) {
  const ink = dark.matches ? "#e4e4e4" : "#222";
  const line = dark.matches ? "#777" : "#888";
  const guide = {labelColor: ink, titleColor: ink, domainColor: line, tickColor: line};
  const config = chart.config;
  return {...chart, title: {...chart.title, color: ink}, config: {...config,
    axis: {...config.axis, ...guide}, legend: {...config.legend, ...guide}}};
}

function draw(panel) {
  drawn.add(panel);
  panel.chart ??= JSON.parse(panel.querySelector("script").textContent);
  return vegaEmbed(panel, coloured(panel.chart), {actions: false, renderer: "svg"});
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
