/* A LayerNorm in three dimensions to be touched: the same formulas as lngeom.layer_norm and lngeom.principal_axes, in plain JavaScript. */
"use strict";
(() => {
  const mean = (x) => (x[0] + x[1] + x[2]) / 3;
  const dot = (x, y) => x[0] * y[0] + x[1] * y[1] + x[2] * y[2];
  const scaled = (x, s) => x.map((t) => t * s);
  function standardize(x, eps) {
    const m = mean(x), c = x.map((t) => t - m), v = dot(c, c) / 3;
    const root = Math.sqrt(v + eps);
    return root === 0 ? [0, 0, 0] : scaled(c, 1 / root);
  }
  // Squared semi-axes over d are the roots of the secular equation sum 1/(g_i^2 - t) = 0; for d = 3 it is quadratic.
  function axes(g) {
    const a = g.map((t) => t * t), e1 = a[0] + a[1] + a[2], e2 = a[0] * a[1] + a[0] * a[2] + a[1] * a[2];
    const root = Math.sqrt(Math.max(0, e1 * e1 - 3 * e2));
    const large = (e1 + root) / 3, small = large === 0 ? 0 : e2 / (3 * large);
    const lengths = [Math.sqrt(3 * large), Math.sqrt(3 * small)];
    // Directions: G times the eigenvectors of Pi G^2 Pi; the smaller axis is orthogonal to the larger one and to 1/g.
    const first = direction(g, a, large);
    const normal = [g[1] * g[2], g[0] * g[2], g[0] * g[1]];
    let second = cross(normal, first);
    if (dot(second, second) < 1e-24) second = direction(g, a, small);
    return { lengths, directions: [unit(first), unit(second)] };
  }
  function direction(g, a, t) {
    for (let i = 0; i < 3; i++) if (Math.abs(a[i] - t) < 1e-12 * Math.max(1, t)) {
      // t is a square of two equal gains: the direction lies between those two components.
      const j = [0, 1, 2].find((k) => k !== i && Math.abs(a[k] - t) < 1e-9 * Math.max(1, t));
      const v = [0, 0, 0];
      v[i] = Math.sign(g[i]) || 1;
      if (j !== undefined) v[j] = -(Math.sign(g[j]) || 1);
      return v;
    }
    return g.map((gi, i) => gi / (a[i] - t));
  }
  const cross = (x, y) => [x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0]];
  const unit = (x) => { const n = Math.hypot(...x); return n === 0 ? x : scaled(x, 1 / n); };

  const initial = () => ({ x: [2, 0.5, -1], g: [1, 1.6, 0.6], logeps: -2, turn: 0.35, tilt: 0.15 });
  const presets = {
    "ε large": { logeps: 1 }, "one gain 0": { g: [1, 1.6, 0] }, "one gain below 0": { g: [-1, 1.6, 0.6] }, "x along 1": { x: [1.5, 1.55, 1.45] },
  };

  function start(place) {
    const state = initial();
    for (const part of location.hash.slice(1).split("&")) {
      const [key, value] = part.split("=");
      if ((key === "x" || key === "g") && value) state[key] = value.split(",").map(Number);
      if (key === "logeps" && value) state.logeps = Number(value);
    }
    const canvas = place.querySelector("canvas"), out = place.querySelector("output"), pen = canvas.getContext("2d");
    const controls = place.querySelector(".touch-controls");
    // Sliders, buttons and dragging all change `state`; each slider shows it again.
    const shows = [];
    const refresh = () => { shows.forEach((show) => show()); draw(); };
    const slider = (label, min, max, step, get, set) => {
      const wrap = document.createElement("label"), input = document.createElement("input"), shown = document.createElement("span");
      Object.assign(input, { type: "range", min, max, step });
      const show = () => { input.value = get(); shown.textContent = get().toFixed(2); };
      input.addEventListener("input", () => { set(Number(input.value)); refresh(); });
      shows.push(show);
      show();
      wrap.append(label, input, shown);
      controls.append(wrap);
    };
    ["₁", "₂", "₃"].forEach((sub, i) => slider(`x${sub}`, -3, 3, 0.05, () => state.x[i], (v) => { state.x[i] = v; }));
    ["₁", "₂", "₃"].forEach((sub, i) => slider(`g${sub}`, -2, 2, 0.05, () => state.g[i], (v) => { state.g[i] = v; }));
    slider("log₁₀ ε", -6, 2, 0.1, () => state.logeps, (v) => { state.logeps = v; });
    slider("turn", 0, 2 * Math.PI, 0.02, () => state.turn, (v) => { state.turn = v; });
    slider("tilt", -1.5, 1.5, 0.02, () => state.tilt, (v) => { state.tilt = v; });
    for (const [label, change] of Object.entries({ ...presets, reset: initial() })) {
      const button = document.createElement("button");
      Object.assign(button, { type: "button", textContent: label });
      button.addEventListener("click", () => { Object.assign(state, structuredClone(change)); refresh(); });
      controls.append(button);
    }

    // What is largest fills the picture.
    const scale = () => Math.min(canvas.width, canvas.height) / 2.2 / Math.max(2.4, Math.hypot(...state.x), axes(state.g).lengths[0]);
    function project(p) {
      const c = Math.cos(state.turn), s = Math.sin(state.turn), ct = Math.cos(state.tilt), st = Math.sin(state.tilt);
      const x = c * p[0] - s * p[1], y = s * p[0] + c * p[1], k = scale();
      return [canvas.width / 2 + k * x, canvas.height / 2 - k * (ct * p[2] - st * y)];
    }
    function line(points, color, width, dash = []) {
      pen.beginPath();
      points.forEach((p, i) => { const [u, v] = project(p); if (i) pen.lineTo(u, v); else pen.moveTo(u, v); });
      Object.assign(pen, { strokeStyle: color, lineWidth: width });
      pen.setLineDash(dash);
      pen.stroke();
      pen.setLineDash([]);
    }
    function dotted(p, color, name) {
      const [u, v] = project(p);
      pen.beginPath(); pen.arc(u, v, 5, 0, 7); pen.fillStyle = color; pen.fill();
      pen.font = "15px sans-serif"; pen.lineWidth = 4; pen.lineJoin = "round";
      pen.strokeStyle = getComputedStyle(document.body).backgroundColor;
      pen.strokeText(name, u + 8, v - 8); pen.fillText(name, u + 8, v - 8);
    }
    function draw() {
      const style = getComputedStyle(place), ink = style.color, { x, g } = state, eps = 10 ** state.logeps;
      pen.clearRect(0, 0, canvas.width, canvas.height);
      const u = unit([1, -1, 0]), v = unit([1, 1, -2]), circle = [];
      for (let k = 0; k <= 120; k++) {
        const t = (k * Math.PI) / 60;
        circle.push(u.map((_, i) => Math.sqrt(3) * (Math.cos(t) * u[i] + Math.sin(t) * v[i])));
      }
      const blue = "#3d8bd4", orange = "#d5731a";
      const [ox, oy] = project([0, 0, 0]), k = scale();
      const ball = pen.createRadialGradient(ox - k * 0.6, oy - k * 0.6, k * 0.2, ox, oy, k * Math.sqrt(3));
      ball.addColorStop(0, "rgba(61, 139, 212, 0.05)"); ball.addColorStop(1, "rgba(61, 139, 212, 0.22)");
      pen.beginPath(); pen.arc(ox, oy, k * Math.sqrt(3), 0, 7); pen.fillStyle = ball; pen.fill();
      pen.globalAlpha = 0.45;
      [0, 1, 2].forEach((i) => {
        const end = [0, 1, 2].map((j) => (i === j ? 1.5 : 0));
        line([[0, 0, 0], end], ink, 1); dotted(end, ink, `e${"₁₂₃"[i]}`);
      });
      pen.globalAlpha = 1;
      line([[-1.3, -1.3, -1.3], [1.3, 1.3, 1.3]], ink, 1, [4, 4]);
      dotted([1.3, 1.3, 1.3], ink, "1");
      line(circle, blue, 2);
      line(circle.map((p) => p.map((t, i) => t * g[i])), orange, 2.5);
      const found = axes(g);
      found.directions.forEach((w, k) => line([scaled(w, -found.lengths[k]), scaled(w, found.lengths[k])], orange, 1, [6, 3]));
      const y = standardize(x, eps), z = y.map((t, i) => t * g[i]), m = mean(x);
      line([x, x.map((t) => t - m)], ink, 1, [2, 3]);
      line([[0, 0, 0], x], ink, 1);
      dotted(x, ink, "x"); dotted(x.map((t) => t - m), ink, "Πx"); dotted(y, blue, "y"); dotted(z, orange, "g∘y");
      const c = x.map((t) => t - m), spread = dot(c, c) / 3;
      const radius = spread + eps === 0 ? 0 : Math.sqrt(spread / (spread + eps));
      const round = (w) => w.map((t) => t.toFixed(4)).join(", ");
      out.textContent = `y = (${round(y)})   g∘y = (${round(z)})   semi-axes ${round(found.lengths)}   relative radius ${radius.toFixed(4)}`;
      out.dataset.values = JSON.stringify({ y, z, semiAxes: found.lengths, directions: found.directions, radius });
      canvas.setAttribute("aria-label", `The sphere of standardized vectors and the ellipse of outputs. ${out.textContent}`);
    }
    // A pointer near x moves it in the plane of the picture; anywhere else it turns the picture.
    let from = null, moves = false;
    const at = (e) => [e.offsetX * canvas.width / canvas.clientWidth, e.offsetY * canvas.height / canvas.clientHeight];
    canvas.addEventListener("pointerdown", (e) => {
      from = at(e);
      const tip = project(state.x);
      moves = Math.hypot(tip[0] - from[0], tip[1] - from[1]) < 24;
      canvas.setPointerCapture(e.pointerId);
    });
    ["pointerup", "pointercancel"].forEach((end) => canvas.addEventListener(end, () => { from = null; }));
    canvas.addEventListener("pointermove", (e) => {
      if (!from) return;
      const to = at(e), dx = to[0] - from[0], dy = to[1] - from[1];
      if (moves) {
        const k = scale(), c = Math.cos(state.turn), s = Math.sin(state.turn), ct = Math.cos(state.tilt), st = Math.sin(state.tilt);
        const right = [c, -s, 0], up = [-st * s, -st * c, ct];
        state.x = state.x.map((t, i) => Math.max(-3, Math.min(3, t + (dx * right[i] - dy * up[i]) / k)));
      } else {
        state.turn = (state.turn + dx / 150 + 2 * Math.PI) % (2 * Math.PI);
        state.tilt = Math.max(-1.5, Math.min(1.5, state.tilt + dy / 150));
      }
      from = to;
      refresh();
    });
    new MutationObserver(draw).observe(document.body, { attributes: true, attributeFilter: ["data-theme"] });
    draw();
  }
  document.addEventListener("DOMContentLoaded", () => document.querySelectorAll(".touch").forEach(start));
})();
