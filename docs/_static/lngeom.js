/* What the pages do beyond being read: certificates typeset when opened, the graph of theorems, the filter of the ledger. */
"use strict";
document.addEventListener("DOMContentLoaded", () => {
  document.querySelectorAll("details.certificate").forEach((box) => {
    box.addEventListener("toggle", () => {
      const list = box.querySelector("ol.certificate.tex2jax_ignore");
      if (!box.open || !list || !window.MathJax || !MathJax.typesetPromise) return;
      list.classList.remove("tex2jax_ignore");
      MathJax.typesetPromise([list]);
    });
  });
  // A link to a step, or to a worked example, opens the boxes around it.
  const reveal = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    if (location.hash.startsWith("#worked-")) {
      let next = target;
      while (next && !(next.tagName === "DETAILS" || (next.querySelector && next.querySelector("details")))) next = next.nextElementSibling;
      const box = next && (next.tagName === "DETAILS" ? next : next.querySelector("details"));
      if (box) box.open = true;
    }
    target.scrollIntoView();
  };
  window.addEventListener("hashchange", reveal);
  if (location.hash) reveal();
  document.querySelectorAll("table.ledger").forEach(filter);
  document.querySelectorAll(".graph-frame").forEach(graph);
  // Tables and figures that are wider than the screen say so.
  document.querySelectorAll("pre").forEach((box) => { if (box.scrollWidth > box.clientWidth) { box.tabIndex = 0; box.classList.add("wider"); } });
  const mark = (boxes) => document.querySelectorAll(boxes).forEach((box) => {
    if (box.scrollWidth > box.clientWidth + 2) {
      box.classList.add("wider");
      box.tabIndex = 0;
      box.setAttribute("role", "region");
      box.setAttribute("aria-label", "scrolls sideways");
    }
  });
  mark(".table-wrapper, .scrolls, article figure, article p:has(> img)");
  if (window.MathJax && MathJax.startup) MathJax.startup.promise.then(() => document.fonts.ready).then(() => mark("div.math"));
});

function filter(table) {
  const place = table.closest(".scrolls").previousElementSibling;
  const rows = [...table.tBodies[0].rows];
  const chosen = {};
  const count = document.createElement("span");
  count.setAttribute("aria-live", "polite");
  const apply = () => {
    const words = (chosen.words || "").toLowerCase();
    let left = 0;
    for (const row of rows) {
      const fits = (!chosen.verdict || row.dataset.verdict === chosen.verdict) && (!chosen.text || row.dataset.text === chosen.text)
        && (!words || row.textContent.toLowerCase().includes(words));
      row.hidden = !fits;
      left += fits;
    }
    count.textContent = `${left} of ${rows.length} claims`;
  };
  for (const [key, title] of [["verdict", "every verdict"], ["text", "every text"]]) {
    const select = document.createElement("select");
    select.setAttribute("aria-label", title);
    select.add(new Option(title, ""));
    for (const value of [...new Set(rows.map((row) => row.dataset[key]))]) select.add(new Option(value, value));
    select.addEventListener("change", () => { chosen[key] = select.value; apply(); });
    place.append(select);
  }
  const search = document.createElement("input");
  search.type = "search";
  search.placeholder = "words or section";
  search.setAttribute("aria-label", "words or section");
  search.addEventListener("input", () => { chosen.words = search.value; apply(); });
  place.append(search, count);
  apply();
}

function graph(frame) {
  const svg = frame.querySelector(".graph-view svg"), said = frame.querySelector(".graph-said");
  const edges = [...svg.querySelectorAll(".edge")], nodes = [...svg.querySelectorAll("a")];
  const whole = svg.viewBox.baseVal.width;
  let zoom = 1, chosen = null;
  frame.querySelectorAll("button").forEach((button) => button.addEventListener("click", () => {
    const factor = Number(button.dataset.zoom);
    zoom = factor ? Math.min(4, Math.max(0.5, zoom * factor)) : 1;
    svg.style.width = zoom === 1 ? "" : `${zoom * whole * 0.8}px`;
  }));
  // What a node says, beside it while the pointer or the keyboard is on it. Its aria-label says the same.
  const card = frame.querySelector(".graph-card");
  const tell = (node) => {
    const [head, rest] = [document.createElement("strong"), document.createElement("code")];
    head.textContent = node.getAttribute("aria-label");
    rest.textContent = node.dataset.statement;
    card.replaceChildren(head, ...(rest.textContent ? [rest] : []));
    card.hidden = false;
    const box = node.getBoundingClientRect(), whole = frame.getBoundingClientRect();
    card.style.left = `${Math.max(0, Math.min(box.left - whole.left + 14, whole.width - card.offsetWidth))}px`;
    card.style.top = `${box.bottom - whole.top + 6}px`;
  };
  for (const node of nodes) {
    for (const on of ["pointerenter", "focus"]) node.addEventListener(on, () => tell(node));
    for (const off of ["pointerleave", "blur"]) node.addEventListener(off, () => { card.hidden = true; });
  }
  frame.addEventListener("keydown", (event) => { if (event.key === "Escape") card.hidden = true; });
  nodes.forEach((node) => node.addEventListener("click", (event) => {
    if (chosen === node) return;
    event.preventDefault();
    chosen = node;
    const near = new Set([node.dataset.n]);
    for (const edge of edges) {
      const on = edge.dataset.a === node.dataset.n || edge.dataset.b === node.dataset.n;
      edge.classList.toggle("on", on);
      if (on) { near.add(edge.dataset.a); near.add(edge.dataset.b); }
    }
    for (const other of nodes) other.classList.toggle("off", !near.has(other.dataset.n));
    said.textContent = `${node.getAttribute("aria-label")}. Choose it again to go there.`;
  }));
}
