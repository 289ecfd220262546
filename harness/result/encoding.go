package result

import (
	"fmt"
	"maps"
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// histogramsDocument is the content of histograms.json.
type histogramsDocument struct {
	Version int                `json:"version"`
	Unit    string             `json:"unit"` // "ns"
	Rounds  []encodedHistogram `json:"rounds"`
}

// encodedHistogram holds a round's histograms in the V2 compressed encoding, in base64.
type encodedHistogram struct {
	Round      int               `json:"round"`
	Histograms map[string]string `json:"histograms,omitempty"` // by name

	// In version 1 there were three, each in a field of its own.
	Enqueue string `json:"enqueue,omitempty"`
	Settle  string `json:"settle,omitempty"`
	Cycle   string `json:"cycle,omitempty"`
}

func encodeHistograms(hists []RoundHistograms) (*histogramsDocument, error) {
	doc := &histogramsDocument{Version: Version, Unit: "ns", Rounds: make([]encodedHistogram, 0, len(hists))}
	for _, h := range hists {
		encoded := encodedHistogram{Round: h.Round, Histograms: map[string]string{}}
		for _, kind := range h.Kinds() {
			if kind.Histogram == nil {
				return nil, fmt.Errorf("round %d: the %s histogram is missing", h.Round, kind.Name)
			}
			text, err := kind.Histogram.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
			if err != nil {
				return nil, fmt.Errorf("round %d: encode the %s histogram: %w", h.Round, kind.Name, err)
			}
			encoded.Histograms[kind.Name] = string(text)
		}
		doc.Rounds = append(doc.Rounds, encoded)
	}
	return doc, nil
}

func (doc *histogramsDocument) decode() ([]RoundHistograms, error) {
	if doc.Unit != "ns" {
		return nil, fmt.Errorf("the unit is %q, not \"ns\"", doc.Unit)
	}
	hists := make([]RoundHistograms, 0, len(doc.Rounds))
	for _, encoded := range doc.Rounds {
		if doc.Version == 1 {
			encoded.Histograms = map[string]string{"enqueue": encoded.Enqueue, "settle": encoded.Settle, "cycle": encoded.Cycle}
		}
		decoded := RoundHistograms{Round: encoded.Round}
		for _, name := range slices.Sorted(maps.Keys(encoded.Histograms)) {
			h, err := hdrhistogram.Decode([]byte(encoded.Histograms[name]))
			if err != nil {
				return nil, fmt.Errorf("round %d: decode the %s histogram: %w", encoded.Round, name, err)
			}
			if !decoded.put(name, h) {
				return nil, fmt.Errorf("round %d: there is no %s histogram", encoded.Round, name)
			}
		}
		for _, kind := range decoded.Kinds() {
			if kind.Histogram == nil {
				return nil, fmt.Errorf("round %d: the %s histogram is missing", encoded.Round, kind.Name)
			}
		}
		hists = append(hists, decoded)
	}
	return hists, nil
}
