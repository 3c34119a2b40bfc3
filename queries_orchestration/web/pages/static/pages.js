// What is under way is asked for again until it has ended; the page itself works without.
"use strict";

(() => {
  const SHORTEST = 1000;
  const LONGEST = 8000;
  let wait = SHORTEST;

  const announced = (part) =>
    new Set([...part.querySelectorAll("[data-announce]")].map((one) => one.dataset.announce));

  function replace(old, fresh) {
    const key = old.contains(document.activeElement) && document.activeElement.dataset.key;
    const known = announced(old);
    const opened = [...old.querySelectorAll("details")].map((one) => one.open);
    old.replaceWith(fresh);
    fresh.querySelectorAll("details").forEach((one, n) => (one.open = opened[n] ?? one.open));
    const told = [...announced(fresh)].filter((one) => !known.has(one));
    if (told.length) document.getElementById("told").textContent = told.join(". ");
    // Whoever was at a button that is gone goes on from the next one, not from the top.
    if (key) (fresh.querySelector(`[data-key="${key}"]`) || fresh.querySelector("a, button"))?.focus();
  }

  async function look() {
    const old = document.querySelector("#live[data-live]");
    if (!old) return;
    if (!document.hidden) {
      try {
        const answer = await fetch(location.href, { signal: AbortSignal.timeout(15000) });
        if (answer.redirected) return location.reload(); // signed out meanwhile
        if (!answer.ok) throw new Error(String(answer.status));
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        const fresh = page.getElementById("live");
        if (!fresh) throw new Error("no such part");
        wait = fresh.textContent === old.textContent ? Math.min(wait * 1.3, LONGEST) : SHORTEST;
        replace(old, fresh);
      } catch {
        wait = LONGEST;
      }
    }
    setTimeout(look, wait);
  }

  // The address that `make dev` prints brings its token behind the #, which no server sees.
  function takeToken() {
    const form = document.querySelector("[data-takes-token]");
    const token = new URLSearchParams(location.hash.slice(1)).get("token");
    if (!form || !token) return;
    form.elements.token.value = token;
    history.replaceState(null, "", location.pathname + location.search);
    form.querySelector("button").focus();
  }

  takeToken();
  setTimeout(look, wait);
})();
