package htmlreport

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"io"
	"regexp"
	"slices"
	"strings"
)

// The allowed parts of a plot. Everything else in an SVG is an error, because a plot with missing
// parts would be misleading.
var (
	plotElements   = []string{"svg", "g", "path", "text", "rect", "line", "circle", "polygon", "polyline", "tspan"}
	plotAttributes = []string{
		"d", "transform", "x", "y", "x1", "x2", "y1", "y2", "r", "cx", "cy", "rx", "ry", "dx", "dy", "points", "width", "height",
		"fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-opacity", "opacity", "font-size", "font-weight", "text-anchor",
	}
	// droppedAttributes are without effect or set by the file's style sheet.
	droppedAttributes = []string{"version", "xmlns", "xlink", "font-family", "font-variant", "font-style", "stroke-linejoin", "stroke-linecap"}
	plainValue        = regexp.MustCompile(`^[-+.,#%()A-Za-z0-9\s]*$`)
)

// plotColors are classes for the colours of a plot's text, background and grid, which a style sheet
// overrides in the dark scheme.
var plotColors = map[string]string{"#FFFFFF": "ground", "#333333": "ink", "#E6E6E6": "rule"}

// inlineSVG returns a plot as an HTML element with a label: only shapes and texts, without styles,
// scripts, ids and references.
func inlineSVG(svg []byte, label string) (string, error) {
	var out strings.Builder
	in := xml.NewDecoder(bytes.NewReader(svg))
	depth := 0
	for {
		token, err := in.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", err
		}
		switch t := token.(type) {
		case xml.StartElement:
			depth++
			if (t.Name.Local == "svg") != (depth == 1) || !slices.Contains(plotElements, t.Name.Local) {
				return "", fmt.Errorf("it has an element %q, which is not supported: plots consist of %s", t.Name.Local, strings.Join(plotElements, ", "))
			}
			if depth == 1 {
				err = openSVG(&out, t, label)
			} else {
				err = openShape(&out, t)
			}
			if err != nil {
				return "", err
			}
		case xml.EndElement:
			depth--
			fmt.Fprintf(&out, "</%s>", t.Name.Local)
		case xml.CharData:
			if depth > 1 {
				out.WriteString(html.EscapeString(strings.Trim(string(t), "\n\t")))
			}
		case xml.Directive:
			return "", errors.New("it has a document type, which is not supported")
		}
	}
	if out.Len() == 0 {
		return "", errors.New("it is empty")
	}
	return out.String(), nil
}

// openSVG begins the outermost element. The style sheet sets its size.
func openSVG(out *strings.Builder, t xml.StartElement, label string) error {
	for _, a := range t.Attr {
		if a.Name.Local == "viewBox" && plainValue.MatchString(a.Value) {
			fmt.Fprintf(out, `<svg class="plot" role="img" aria-label="%s" viewBox="%s">`, html.EscapeString(label), a.Value)
			return nil
		}
	}
	return errors.New("it has no viewBox")
}

func openShape(out *strings.Builder, t xml.StartElement) error {
	fmt.Fprintf(out, "<%s", t.Name.Local)
	class := ""
	for _, a := range append(slices.Clone(t.Attr), styles(t.Attr)...) {
		name, value := a.Name.Local, a.Value
		switch {
		case name == "style" || slices.Contains(droppedAttributes, name):
			continue
		case !slices.Contains(plotAttributes, name):
			return fmt.Errorf("<%s> has an attribute %q, which is not supported", t.Name.Local, name)
		case !plainValue.MatchString(value):
			return fmt.Errorf("<%s> has %s=%q, which is not a colour, number or path", t.Name.Local, name, value)
		case value == "normal" || name == "stroke-width" && value == "1":
			continue
		}
		if (name == "fill" || name == "stroke") && plotColors[value] != "" {
			class = name + "-" + plotColors[value]
		}
		fmt.Fprintf(out, ` %s="%s"`, name, value)
	}
	if class != "" {
		fmt.Fprintf(out, ` class="%s"`, class)
	}
	out.WriteByte('>')
	return nil
}

// styles returns the properties of an element's style as attributes.
func styles(attributes []xml.Attr) (all []xml.Attr) {
	for _, a := range attributes {
		if a.Name.Local != "style" {
			continue
		}
		for _, property := range strings.Split(a.Value, ";") {
			if name, value, is := strings.Cut(property, ":"); is {
				all = append(all, xml.Attr{Name: xml.Name{Local: strings.TrimSpace(name)}, Value: strings.TrimSpace(value)})
			}
		}
	}
	return all
}
