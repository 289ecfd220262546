// Package htmlreport converts Markdown pages to one HTML file that needs no network.
//
// Document reads all pages below a folder. Each page becomes an article, links between pages become
// links within the file, and SVG plots become elements. Scripts and styles are in the file too. A
// Content-Security-Policy names them by their hashes and forbids everything else, so the file makes
// no request. Without scripts it shows all articles in sequence, with scripts one at a time.
//
// A plot whose data is stored with the pages becomes a chart that shows its values. The profiles of
// a run become flame graphs in a separate article. Without scripts a reader sees the plots, and
// tables of the most expensive functions.
//
// Text of pages is escaped, HTML in Markdown is shown as text, and only the shapes and texts of
// plots are copied from an SVG. The same folder yields the same bytes. Handler and Serve serve a
// file to browsers.
package htmlreport
