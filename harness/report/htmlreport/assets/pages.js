// One article is shown at a time: the one that the address names, or that has the heading which it names.

const articles = [...document.querySelectorAll("main > article")];
const pageLinks = [...document.querySelectorAll("#ui-pages li a")];
const narrow = matchMedia("(max-width: 59.99rem)");
const onShow = []; // functions that are called with an article when it is shown

// addressed returns the element that the address names, or null.
function addressed() {
  try {
    return byId(decodeURIComponent(location.hash.slice(1)));
  } catch {
    return null; // the address is not well formed
  }
}

// show shows the article that the address names. move moves the focus to it, for readers without a pointer.
function show(move) {
  const target = addressed();
  const article = (target && target.closest("article")) || articles[0];
  for (const a of articles) a.classList.toggle("shown", a === article);
  for (const link of pageLinks) {
    if (link.hash === "#" + article.id) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = article.querySelector("h1").textContent;
  for (const f of onShow) f(article);
  setMenu(false);
  if (!target || target === article) {
    scrollTo(0, 0);
    if (move) article.querySelector("h1").focus({ preventScroll: true });
    return;
  }
  target.scrollIntoView();
  if (move) {
    target.tabIndex = -1;
    target.focus({ preventScroll: true });
  }
}

// setMenu opens or closes the list of pages on a narrow screen.
function setMenu(open) {
  byId("ui-pages").classList.toggle("open", open);
  byId("ui-menu").setAttribute("aria-expanded", String(open));
}

// filter shows the pages whose title or address has each of the words.
function filter() {
  const words = byId("ui-filter").value.toLowerCase().split(/\s+/).filter(Boolean);
  let found = 0;
  for (const link of pageLinks) {
    const text = (link.textContent + " " + link.hash).toLowerCase();
    const has = words.every((word) => text.includes(word));
    link.parentElement.hidden = !has;
    if (has) found++;
  }
  for (const list of document.querySelectorAll("#ui-pages ul")) {
    const empty = !list.querySelector("li:not([hidden])");
    list.hidden = empty;
    if (list.previousElementSibling && list.previousElementSibling.tagName === "H2") list.previousElementSibling.hidden = empty;
  }
  byId("ui-found").textContent = words.length ? found + " of " + pageLinks.length + " pages" : "";
}

// walk moves the focus through the list of pages by the arrow keys.
function walk(event) {
  const shown = pageLinks.filter((link) => !link.parentElement.hidden);
  const at = shown.indexOf(document.activeElement);
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: shown.length - 1 }[event.key];
  if (to === undefined || (at < 0 && event.key !== "ArrowDown")) return;
  event.preventDefault();
  if (to < 0) byId("ui-filter").focus();
  else if (shown[to]) shown[to].focus();
}

function startPages() {
  byId("ui-menu").addEventListener("click", () => setMenu(!byId("ui-pages").classList.contains("open")));
  byId("ui-filter").addEventListener("input", filter);
  byId("ui-pages").addEventListener("keydown", walk);
  byId("ui-pages").addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !narrow.matches) return;
    setMenu(false);
    byId("ui-menu").focus();
  });
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault(); // the address keeps the page
    byId("ui-main").focus();
  });
  addEventListener("hashchange", () => show(true));
  show(false);
}
