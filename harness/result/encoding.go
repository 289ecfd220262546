package result

import (
	"fmt"
	"maps"
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"
)

type histogramsDocument struct {
	Version int                `json:"version"`
	Unit    string             `json:"unit"` // "ns"
	Rounds  []encodedHistogram `json:"rounds"`
}

// encodedHistogram contains a round's histograms in the V2 compressed encoding, in base64.
type encodedHistogram struct {
	Round      int               `json:"round"`
	Histograms map[string]string `json:"histograms,omitempty"` // by name
	Workloads  []encodedWorkload `json:"workloads,omitempty"`
}

// encodedWorkload contains the histograms of one of several workloads.
type encodedWorkload struct {
	Name       string            `json:"name"`
	Histograms map[string]string `json:"histograms"`
}

func encodeHistograms(hists []RoundHistograms) (*histogramsDocument, error) {
	doc := &histogramsDocument{Version: Version, Unit: "ns", Rounds: make([]encodedHistogram, 0, len(hists))}
	for _, h := range hists {
		encoded := encodedHistogram{Round: h.Round}
		var err error
		if encoded.Histograms, err = h.Encode(); err != nil {
			return nil, fmt.Errorf("round %d: %w", h.Round, err)
		}
		for _, w := range h.Workloads {
			texts, err := w.Encode()
			if err != nil {
				return nil, fmt.Errorf("round %d: workload %s: %w", h.Round, w.Name, err)
			}
			encoded.Workloads = append(encoded.Workloads, encodedWorkload{w.Name, texts})
		}
		doc.Rounds = append(doc.Rounds, encoded)
	}
	return doc, nil
}

// Encode returns the histograms by name, each in the V2 compressed encoding, in base64.
func (h Histograms) Encode() (map[string]string, error) {
	texts := map[string]string{}
	for _, kind := range h.Kinds() {
		if kind.Histogram == nil {
			return nil, fmt.Errorf("the %s histogram is missing", kind.Name)
		}
		text, err := kind.Histogram.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
		if err != nil {
			return nil, fmt.Errorf("encode the %s histogram: %w", kind.Name, err)
		}
		texts[kind.Name] = string(text)
	}
	return texts, nil
}

// DecodeHistograms decodes the output of Encode. The histograms of every load must be present, and
// unknown names are an error.
func DecodeHistograms(texts map[string]string) (Histograms, error) {
	var decoded Histograms
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		h, err := hdrhistogram.Decode([]byte(texts[name]))
		if err != nil {
			return decoded, fmt.Errorf("decode the %s histogram: %w", name, err)
		}
		into := decoded.field(name)
		if into == nil {
			return decoded, fmt.Errorf("there is no %s histogram", name)
		}
		*into = h
	}
	for _, kind := range decoded.Kinds() {
		if kind.Histogram == nil {
			return decoded, fmt.Errorf("the %s histogram is missing", kind.Name)
		}
	}
	return decoded, nil
}

func (doc *histogramsDocument) decode() ([]RoundHistograms, error) {
	if doc.Unit != "ns" {
		return nil, fmt.Errorf("the unit is %q, not \"ns\"", doc.Unit)
	}
	hists := make([]RoundHistograms, 0, len(doc.Rounds))
	for _, encoded := range doc.Rounds {
		decoded := RoundHistograms{Round: encoded.Round}
		var err error
		if decoded.Histograms, err = DecodeHistograms(encoded.Histograms); err != nil {
			return nil, fmt.Errorf("round %d: %w", encoded.Round, err)
		}
		for _, w := range encoded.Workloads {
			h, err := DecodeHistograms(w.Histograms)
			if err != nil {
				return nil, fmt.Errorf("round %d: workload %s: %w", encoded.Round, w.Name, err)
			}
			decoded.Workloads = append(decoded.Workloads, WorkloadHistograms{w.Name, h})
		}
		hists = append(hists, decoded)
	}
	return hists, nil
}
