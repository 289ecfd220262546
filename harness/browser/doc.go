// Package browser drives the HTML file of package htmlreport in a browser: it has tests only, and is a module of its own so that nothing else
// depends on what drives browsers.
//
// The tests need Chromium, and axe-core, which `make axe` fetches. They are part of the long form of the tests, and say what is missing
// where they are skipped.
package browser
