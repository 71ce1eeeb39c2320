/* What the pages do beyond being read: links that open boxes, and the filter of the ledger. */
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
  document.querySelectorAll("table.ledger").forEach(filter);
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
