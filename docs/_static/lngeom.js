/* What the pages do beyond being read: links that open boxes, and what is wider than the screen. */
"use strict";
document.addEventListener("DOMContentLoaded", () => {
  // A link to a worked example opens the boxes around it.
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
  mark(".table-wrapper, article figure, article p:has(> img)");
  if (window.MathJax && MathJax.startup) MathJax.startup.promise.then(() => document.fonts.ready).then(() => mark("div.math"));
});
