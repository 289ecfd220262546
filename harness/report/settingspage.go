package report

import "github.com/pronybench/prony/harness/report/doc"

// page is the document that the sections of settings.go write to.
type page struct{ *doc.Document }

func (p *page) heading(level int, format string, args ...any) { p.Heading(level, format, args...) }
func (p *page) paragraph(format string, args ...any)          { p.Paragraph(format, args...) }
func (p *page) table(header []string, rows [][]string)        { p.Table(header, rows) }

func code(s string) string { return doc.Code(s) }
