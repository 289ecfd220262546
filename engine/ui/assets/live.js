// Updates the parts of the page that are marked with data-live. It loads the page again every few
// seconds while the page is visible, and leaves a part alone while it has the focus or selected text.
"use strict";
(() => {
  const every = 5000;
  const bar = document.querySelector(".live-bar");
  const parts = () => document.querySelectorAll("[data-live]");
  if (!bar || parts().length === 0) return;
  const pause = bar.querySelector("[data-live-pause]");
  const state = bar.querySelector("[data-live-state]");
  let paused = false;
  bar.hidden = false;
  pause.addEventListener("click", () => {
    paused = !paused;
    pause.setAttribute("aria-pressed", String(paused));
    state.textContent = paused ? "paused" : "";
  });
  const busy = (part) => part.contains(document.activeElement) || part.querySelector("input:checked, details[open]") ||
    (String(getSelection()) !== "" && part.contains(getSelection().anchorNode));
  async function update() {
    if (paused || document.hidden) return;
    try {
      const answer = await fetch(location.href, { redirect: "error" });
      if (!answer.ok) throw new Error(answer.statusText);
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").querySelectorAll("[data-live]");
      parts().forEach((part, i) => {
        if (fresh[i] && !busy(part)) part.replaceChildren(...fresh[i].childNodes);
      });
      state.textContent = paused ? "paused" : "updated " + new Date().toLocaleTimeString();
    } catch {
      state.textContent = "cannot update: load the page again";
    }
  }
  setInterval(update, every);
})();
