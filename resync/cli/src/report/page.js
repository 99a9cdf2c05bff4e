"use strict";
// Hides the rows of the last records that do not hold the text, or are not grave enough.
const rows = Array.from(document.querySelectorAll("#records tbody tr"));
const texts = rows.map((row) => row.textContent.toLowerCase());
const bands = ["error", "warn", "info", "other"];
const text = document.getElementById("text");
const level = document.getElementById("level");
const found = document.getElementById("found");

function filter() {
  const wanted = text.value.toLowerCase();
  const least = bands.indexOf(level.value);
  let shown = 0;
  rows.forEach((row, at) => {
    const fits = texts[at].includes(wanted) && bands.indexOf(row.dataset.band) <= least;
    row.hidden = !fits;
    shown += fits;
  });
  found.textContent = shown + " of " + rows.length + " records";
}

if (text && level && found) {
  text.addEventListener("input", filter);
  level.addEventListener("input", filter);
  document.querySelector(".controls").hidden = false;
  filter();
}
