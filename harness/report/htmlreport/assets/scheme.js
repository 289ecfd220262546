// The colours follow the system, unless the reader chose a scheme. The choice is kept where the browser lets the file keep anything.

const schemeKey = "prony-report-scheme";

function setScheme(name) {
  if (name) document.documentElement.dataset.scheme = name;
  else delete document.documentElement.dataset.scheme;
}

function startScheme() {
  const select = byId("ui-scheme");
  try {
    select.value = localStorage.getItem(schemeKey) || "";
  } catch {
    select.value = ""; // the browser keeps nothing for this file
  }
  setScheme(select.value);
  select.addEventListener("change", () => {
    setScheme(select.value);
    try {
      localStorage.setItem(schemeKey, select.value);
    } catch {
      // The choice holds until the file is closed.
    }
  });
}
