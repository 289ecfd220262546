// Package browser tests the HTML file of package htmlreport, and the engine's page for operators,
// in a browser. It contains only tests. It is a separate module so that nothing else depends on the
// browser driver.
//
// The tests need Chromium, and axe-core, which `make axe` fetches. They are part of the long tests.
// If something is missing, they are skipped with the reason.
package browser
