// Every page works without this script. With it, a page keeps itself up to
// date: the countdown runs, and what somebody else decides is shown. Nothing
// else moves, and what was typed stays. It sends no form by itself.
(() => {
  "use strict";
  const page = document.body.dataset;

  const all = (sel, root = document) => [...root.querySelectorAll(sel)];
  const make = (tag, props, ...kids) => {
    const el = Object.assign(document.createElement(tag), props);
    el.append(...kids);
    return el;
  };

  const heightOf = (el) => `${el.getBoundingClientRect().height}px`;

  // A form is sent once, however often the button is pressed.
  document.addEventListener("submit", (e) => {
    const form = e.target;
    if (form.method !== "post" || e.defaultPrevented) return;
    if (form.dataset.sent) {
      e.preventDefault();
      return;
    }
    form.dataset.sent = "yes";
    form.setAttribute("aria-busy", "true");
    setTimeout(() => unsend(form), 10000); // whoever stopped it may try again
  });
  const unsend = (form) => {
    delete form.dataset.sent;
    form.removeAttribute("aria-busy");
  };

  // Ctrl+Enter in a text of a form that has one thing to do.
  document.addEventListener("keydown", (e) => {
    if (e.key !== "Enter" || !(e.ctrlKey || e.metaKey) || !e.target.form) return;
    const main = e.target.form.querySelector("[data-main]");
    if (main) e.target.form.requestSubmit(main);
  });

  if (!page.page) return;

  // "Recorded" is said once: the address forgets it.
  if (/[?&](recorded|saved)\b/.test(location.search)) history.replaceState(null, "", page.page);

  // The countdown goes by the hub's clock, not by this device's.
  const skew = Date.now() - Number(page.now);
  const two = (a, ua, b, ub) => `${a} ${ua}` + (b ? ` ${b} ${ub}` : "");
  const span = (ms) => {
    const s = Math.floor(ms / 1000);
    const whole = (n, unit) => Math.floor((s % n) / unit);
    if (s >= 86400) return two(Math.floor(s / 86400), "d", whole(86400, 3600), "h");
    if (s >= 3600) return two(Math.floor(s / 3600), "h", whole(3600, 60), "min");
    if (s >= 60) return `${Math.floor(s / 60)} min`;
    return `${Math.max(s, 1)} s`;
  };
  const tick = () => {
    for (const el of all("[data-due]")) {
      const left = Number(el.dataset.due) + skew - Date.now();
      const text = left > 0 ? `(in ${span(left)})` : "(now)";
      if (el.textContent !== text) el.textContent = text;
    }
  };
  setInterval(tick, 30000);

  // What is said at the edge of the window moves nothing.
  const toast = (text, link, href) => {
    const el = document.getElementById("toast");
    if (!el) return;
    el.replaceChildren(text, ...(link ? [" ", make("a", { href }, link)] : []));
  };
  const say = (text) => {
    const el = document.getElementById("say");
    if (el && text) el.textContent = text;
  };
  let isStale = false;
  const stale = () => {
    if (isStale) return;
    isStale = true;
    if (typed().length) toast("This page has stopped updating by itself.");
    else toast("This page has stopped updating by itself.", "Reload it", page.page);
  };
  const fresh = () => {
    if (isStale) toast("");
    isStale = false;
  };

  // What somebody has typed and not sent, but for what is sensitive.
  const typed = () => all("#respond textarea, #respond input[type=text]")
    .filter((el) => !el.readOnly && el.value !== el.defaultValue && el.value.trim())
    .map((el) => {
      const label = el.labels && el.labels[0] && el.name.startsWith("f") ? el.labels[0].firstChild.textContent.trim() + ": " : "";
      return label + el.value;
    });

  const swapForm = (old, next) => {
    const form = old.querySelector("form");
    const to = next.querySelector("form");
    if (form && form.dataset.sent) return; // its own answer is on the way
    if (form && to) {
      // It is still open: leave it, but for steps that others have ticked.
      for (const box of all("input[type=checkbox]", to)) {
        const mine = form.querySelector(`input[type=checkbox][value="${box.value}"]`);
        if (!mine) continue;
        if (mine.checked === mine.defaultChecked) mine.checked = box.checked;
        mine.defaultChecked = box.defaultChecked;
      }
      return;
    }
    const lost = typed().join("\n");
    const held = old.contains(document.activeElement);
    old.style.minHeight = heightOf(old); // so that what is below stays where it is
    old.replaceChildren(...next.childNodes);
    if (lost) {
      const kept = make("textarea", { id: "lost", rows: 3, readOnly: true, dir: "auto", value: lost });
      old.append(make("div", { className: "field" }, make("label", { htmlFor: "lost" }, "What you had typed, not recorded"), kept));
    }
    if (held) (document.getElementById("lost") || document.getElementById("main")).focus({ preventScroll: true });
  };

  const swapItem = (doc) => {
    for (const old of all("[data-live]")) {
      const next = doc.getElementById(old.id);
      if (!next || old.innerHTML === next.innerHTML) continue;
      if (old.id === "respond") {
        swapForm(old, next);
        continue;
      }
      const open = all("details", old).map((d) => d.open);
      old.replaceChildren(...next.childNodes);
      all("details", old).forEach((d, i) => { d.open = Boolean(open[i]); });
      if (next.dataset.say !== old.dataset.say) {
        old.dataset.say = next.dataset.say || "";
        say(old.dataset.say);
      }
    }
    document.title = doc.title;
  };

  // Rows stay where they are; what is new is offered.
  const swapList = (doc) => {
    const next = new Map(all("[data-id]", doc).map((li) => [li.dataset.id, li]));
    const had = new Set();
    let newest = "";
    // What is older than the last row of a list that goes on may be on its next page.
    const beyond = (li) => {
      const kind = li.parentElement.dataset.kind;
      if (!doc.getElementById("more-" + kind)) return false;
      const last = all(`[data-kind="${kind}"] > li`, doc).pop();
      return !last || li.dataset.id < last.dataset.id;
    };
    for (const li of all("[data-id]")) {
      const id = li.dataset.id;
      had.add(id);
      if (id > newest) newest = id;
      const to = next.get(id);
      if (to) {
        if (li.innerHTML === to.innerHTML) continue;
        const held = li.contains(document.activeElement);
        li.style.height = heightOf(li); // so that the rows below stay where they are
        li.classList.add("held");
        li.replaceChildren(...to.childNodes);
        if (held) li.querySelector("a").focus({ preventScroll: true });
        if (!("open" in to.dataset)) delete li.dataset.open;
      } else if ("open" in li.dataset && !beyond(li)) {
        delete li.dataset.open;
        li.querySelector(".meta:last-child").textContent = "no longer open";
      }
    }
    const count = [...next.keys()].filter((id) => id > newest && !had.has(id)).length;
    if (count) toast(`${count} new.`, "Show", page.page);
  };

  let busy = false;
  let again = false;
  const refresh = async () => {
    if (busy) {
      again = true;
      return;
    }
    busy = true;
    try {
      const r = await fetch(page.page, { credentials: "same-origin", cache: "no-store" });
      if (!r.ok) throw new Error(String(r.status));
      const doc = new DOMParser().parseFromString(await r.text(), "text/html");
      const next = doc.body.dataset;
      if (!next.page) throw new Error("another page");
      page.revision = next.revision;
      if (document.querySelector("[data-live]")) swapItem(doc);
      else swapList(doc);
      tick();
      if (!next.watch) {
        close();
        delete page.watch;
      }
    } catch {
      close();
      stale();
      setTimeout(connect, 60000);
    } finally {
      busy = false;
      if (again) {
        again = false;
        refresh();
      }
    }
  };

  // A hidden page needs no stream: it looks again when it is shown.
  let events = null;
  let failures = 0;
  const close = () => {
    if (events) events.close();
    events = null;
  };
  const connect = () => {
    if (events || !page.watch || document.hidden || !window.EventSource) return;
    events = new EventSource(page.watch);
    events.addEventListener("change", (e) => {
      failures = 0;
      fresh();
      if (JSON.parse(e.data).revision !== page.revision) refresh();
    });
    events.addEventListener("error", () => {
      failures += 1;
      const dead = !events || events.readyState === EventSource.CLOSED;
      if (dead) {
        close();
        setTimeout(connect, 60000);
      }
      if (dead || failures > 2) stale();
    });
  };
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) {
      close();
      return;
    }
    tick();
    connect();
  });
  addEventListener("pagehide", close);
  addEventListener("pageshow", () => {
    all("form").forEach(unsend);
    connect();
  });
  connect();
})();
