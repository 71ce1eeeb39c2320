/* The steps of LayerNorm and the ellipse of its outputs, to be dragged. Its functions of numbers are those of the
   library, and a test compares them; where no script runs, the picture in the page stays. */
"use strict";
const norm = (() => {
  const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  const times = (a, c) => a.map((v, i) => v * (c.length ? c[i] : c));
  const plus = (a, b) => a.map((v, i) => v + b[i]);
  const mean = (x) => (x[0] + x[1] + x[2]) / 3;
  const project = (x) => x.map((v) => v - mean(x));
  const variance = (x) => dot(project(x), project(x)) / 3;
  const standardize = (x, eps) => times(project(x), 1 / Math.sqrt(variance(x) + eps));
  const layerNorm = (x, gain, eps) => times(standardize(x, eps), gain);
  const relativeRadius = (x, eps) => Math.sqrt(variance(x) / (variance(x) + eps));
  const frame = [[Math.SQRT1_2, -Math.SQRT1_2, 0], [1, 1, -2].map((v) => v / Math.sqrt(6)), [1, 1, 1].map((v) => v / Math.sqrt(3))];
  const circle = (t) => plus(times(frame[0], Math.sqrt(3) * Math.cos(t)), times(frame[1], Math.sqrt(3) * Math.sin(t)));
  // The outputs g ∘ circle(t) are longest and shortest where tan 2t = 2 p·q / (p·p − q·q), for p, q a quarter turn apart.
  const principalAxes = (gain) => {
    const [p, q] = [0, Math.PI / 2].map((t) => times(circle(t), gain));
    const t = Math.atan2(2 * dot(p, q), dot(p, p) - dot(q, q)) / 2;
    return [t, t + Math.PI / 2].map((at) => times(circle(at), gain));
  };
  return { dot, times, plus, mean, project, variance, standardize, layerNorm, relativeRadius, frame, circle, principalAxes };
})();
if (typeof module !== "undefined") module.exports = norm;
else document.addEventListener("DOMContentLoaded", () => document.querySelectorAll("figure.live").forEach((figure) => {
  const { dot, times, plus } = norm, zero = [0, 0, 0], tilt = 0.36, names = ["project", "normalize", "scale", "gain"];
  const value = { x1: 1.8, x2: 0.6, x3: -0.3, g1: 1.4, g2: 0.6, g3: 1, e: -3, step: 4, turn: -1.13 };
  const shown = (v) => v.toFixed(2).replace("-", "−"), listed = (v) => `(${v.map(shown).join(", ")})`;
  const three = (key, most) => [1, 2, 3].map((i) => [`${key}${i}`, `${key}<sub>${i}</sub>`, -most, most, 0.05]);
  const sliders = [...three("x", 2), ...three("g", 1.5), ["e", "ε", -6, 1, 0.1], ["step", "step", 1, 4, 1]];
  const box = document.createElement("div");
  box.className = "live-box";
  box.innerHTML = `<svg viewBox="-2.9 -2.7 5.8 4.1" role="img" aria-label="The steps of LayerNorm in space"><g></g><circle class="grip" r="0.4"/></svg>
    <svg viewBox="-2.9 -2 5.8 4" role="img" aria-label="The ellipse of all outputs, in its plane"><g></g></svg>
    <div class="live-sliders">${sliders.map(([key, label, low, high, by]) => `<label><span>${label}</span><input type="range"
      name="${key}" min="${low}" max="${high}" step="${by}" value="${value[key]}"><output></output></label>`).join("")}</div>
    <p>First the steps, then the ellipse of all outputs in its plane, with z and the outputs of 160 other inputs.
    Drag the tip of x, or beside it to turn the view; arrow keys move the sliders.</p><p aria-live="polite"></p>`;
  const [space, flat] = box.querySelectorAll("svg"), grip = box.querySelector(".grip");
  const right = () => [-Math.sin(value.turn), Math.cos(value.turn), 0];
  const up = () => [-Math.cos(value.turn) * Math.sin(tilt), -Math.sin(value.turn) * Math.sin(tilt), Math.cos(tilt)];
  const seen = (x) => { const p = norm.frame.map((f) => dot(f, x)); return [dot(right(), p), -dot(up(), p)]; };
  const path = (points, kind) => `<path class="${kind}" d="M${points.map((p) => p.map((v) => v.toFixed(3)).join(" ")).join("L")}"/>`;
  const words = ([x, y], text, kind) => `<text class="${kind}" x="${x.toFixed(3)}" y="${y.toFixed(3)}">${text}</text>`;
  const arrow = (from, to, kind, text) => {
    const [a, b] = [seen(from), seen(to)], [dx, dy] = [b[0] - a[0], b[1] - a[1]], long = Math.hypot(dx, dy) || 1;
    const [ux, uy] = [dx / long, dy / long], head = Math.min(0.22, long);
    const wing = (side) => [b[0] - head * (ux + side * 0.4 * uy), b[1] - head * (uy - side * 0.4 * ux)];
    return path([a, b], kind) + path([b, wing(1), wing(-1), b], `${kind} filled`) + words([b[0] + 0.28 * ux, b[1] + 0.28 * uy], text, kind);
  };
  const turns = Array.from({ length: 91 }, (_, k) => (k * Math.PI) / 45);
  // Inputs of all directions, whose deviation runs from 0.001 to 3.
  const inputs = Array.from({ length: 160 }, (_, k) => times(norm.circle(2.4 * k), 10 ** (-3 + 3.5 * k / 160)));
  const draw = () => {
    const x = [value.x1, value.x2, value.x3], gain = [value.g1, value.g2, value.g3], eps = 10 ** value.e, { step } = value;
    const y = norm.standardize(x, eps), z = norm.layerNorm(x, gain, eps), r = norm.relativeRadius(x, eps), flatX = norm.project(x);
    const mean = times([1, 1, 1], norm.mean(x)), ring = (size, kind) => path(turns.map((t) => seen(times(norm.circle(t), size))), kind);
    const parts = [ring(1.7, "floor"), ...[0, 1, 2].map((i) => { const end = [0, 0, 0]; end[i] = 2.1; return path([seen(zero), seen(end)], "axis") + words(seen(times(end, 1.1)), `x${"₁₂₃"[i]}`, "axis"); })];
    parts.push(arrow(zero, [1, 1, 1], "one", "𝟏"));
    if (step === 1) parts.push(path([seen(x), seen(mean)], "dots"), path([seen(x), seen(flatX)], "dots"), arrow(zero, mean, "mean", "μ𝟏"));
    if (step <= 2) parts.push(arrow(zero, flatX, step === 1 ? "flat" : "axis", "Πx"));
    if (step === 2) parts.push(ring(1 / Math.sqrt(3), "axis"), arrow(zero, times(y, 1 / Math.sqrt(3)), "flat", "y/√d"));
    if (step >= 3) parts.push(ring(1, step === 3 ? "y" : "axis"), arrow(zero, y, step === 3 ? "y" : "axis", "y"));
    if (step === 4) parts.push(path(turns.map((t) => seen(times(norm.circle(t), gain))), "z sheet"), arrow(zero, z, "z", "z"));
    parts.push(arrow(zero, x, "x", "x"));
    space.firstElementChild.innerHTML = parts.join("");
    seen(x).forEach((v, k) => grip.setAttribute(["cx", "cy"][k], v));
    const ends = norm.principalAxes(gain), axes = ends.map((end) => Math.sqrt(dot(end, end)));
    const inPlane = (v) => ends.map((end, k) => (axes[k] ? (k ? -1 : 1) * dot(v, end) / axes[k] : 0));
    const oval = (size, kind) => path(turns.map((t) => [size * axes[0] * Math.cos(t), size * axes[1] * Math.sin(t)]), kind);
    flat.firstElementChild.innerHTML = [oval(1, "z sheet"), oval(r, "dots"), path([[0, 0], [axes[0], 0]], "one"), path([[0, 0], [0, -axes[1]]], "flat"),
      ...inputs.map((each) => { const [a, b] = inPlane(norm.layerNorm(each, gain, eps)); return `<circle class="dot" cx="${a.toFixed(3)}" cy="${b.toFixed(3)}" r="0.035"/>`; }),
      words([axes[0] / 2, 0.3], shown(axes[0]), "one"), words([-0.45, -axes[1] / 2], shown(axes[1]), "flat"),
      ((p) => `<circle class="z filled" cx="${p[0]}" cy="${p[1]}" r="0.12"/>` + words([p[0] + 0.3, p[1] - 0.25], "z", "z"))(inPlane(z))].join("");
    box.querySelectorAll("input").forEach((input) => {
      const { name } = input, text = name === "step" ? names[step - 1] : name === "e" ? eps.toExponential(0).replace("-", "−") : shown(value[name]);
      input.value = value[name];
      input.setAttribute("aria-valuetext", input.nextElementSibling.textContent = text);
    });
    box.lastElementChild.textContent = `x = ${listed(x)}, Πx = ${listed(flatX)}, y = ${listed(y)}, z = ${listed(z)}; relative radius r = ${r.toFixed(3)}; semi-axes ${axes.map(shown).join(" and ")}`;
  };
  box.addEventListener("input", ({ target }) => { value[target.name] = Number(target.value); draw(); });
  let dragged = null, last = [0, 0];
  space.addEventListener("pointerdown", (event) => {
    [dragged, last] = [event.target === grip ? "x" : "turn", [event.clientX, event.clientY]];
    space.setPointerCapture(event.pointerId);
  });
  ["pointerup", "pointercancel"].forEach((name) => space.addEventListener(name, () => { dragged = null; }));
  space.addEventListener("pointermove", (event) => {
    if (!dragged) return;
    const unit = 5.8 / space.clientWidth, [dx, dy] = [(event.clientX - last[0]) * unit, (last[1] - event.clientY) * unit];
    last = [event.clientX, event.clientY];
    if (dragged === "turn") value.turn -= dx / 2;
    else {
      const moved = plus(times(right(), dx), times(up(), dy)), by = [0, 1, 2].map((i) => norm.frame.reduce((sum, f, k) => sum + f[i] * moved[k], 0));
      by.forEach((v, i) => { value[`x${i + 1}`] = Math.max(-2, Math.min(2, value[`x${i + 1}`] + v)); });
    }
    draw();
  });
  figure.querySelector("img").closest("a, img").replaceWith(box);
  draw();
}));
