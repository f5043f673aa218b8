// SPDX-License-Identifier: MIT
// A lock that is pointed at, or picked, stands out in all figures and tables.
let picked = "";

function show(name) {
  document.querySelectorAll(".on").forEach((e) => e.classList.remove("on"));
  document.body.classList.toggle("picking", name !== "");
  if (name) {
    const its = `[data-s="${CSS.escape(name)}"]`;
    document.querySelectorAll(its).forEach((e) => e.classList.add("on"));
  }
}

function lock(event) {
  const found = event.target.closest("[data-s]");
  return found ? found.dataset.s : "";
}

document.addEventListener("click", (event) => {
  const name = lock(event);
  if (!name) return;
  picked = picked === name ? "" : name;
  document.querySelectorAll("button[data-s]").forEach((button) => {
    button.setAttribute("aria-pressed", String(button.dataset.s === picked));
  });
  show(picked);
});
document.addEventListener("pointerover", (event) => {
  if (event.pointerType === "mouse") show(lock(event) || picked);
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") show((picked = ""));
});

const theme = document.getElementById("theme");
theme.hidden = false;
theme.addEventListener("click", () => {
  const root = document.documentElement;
  const chosen = root.style.colorScheme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  root.style.colorScheme = chosen === "dark" ? "light" : "dark";
});
