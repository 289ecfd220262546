// Package htmlreport writes Markdown pages as one HTML file, which shows them without a network.
//
// Document reads each page below a folder, whatever pages there are. Each page becomes an article, links between pages become links
// within the file, and SVG plots stand in it as elements. Scripts and styles are in the file too, and a Content-Security-Policy names
// them by their hashes and forbids everything else: the file makes no request. Without scripts it shows all articles, one below the
// other; with them one at a time.
//
// A plot whose data is stored beside the pages becomes a chart, from which a reader reads values, and the profiles of a run become flame
// graphs, on an article of their own. Without scripts a reader sees the plots, and tables of the functions that cost most.
//
// Text of pages is escaped, HTML in Markdown is shown as text, and of an SVG only the shapes and texts that plots consist of are taken
// over. The same folder yields the same bytes. Handler and Serve serve a file to browsers.
package htmlreport
