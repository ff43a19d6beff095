package main

import (
	"encoding/json"
	"fmt"
	"math"
	"sort"
	"strings"
)

// An element of a map, [key, value] in JSON.
type element [2]uint64

// A history is what the threads of one short run of a map did, as the recorder writes it, one JSON
// object a line. Times are nanoseconds of a clock that all threads share. An operation took effect,
// if the map is linearizable, at one moment between its call and its return, both included.
type history struct {
	Map        string      `json:"map"`
	Seed       uint64      `json:"seed"`
	Number     uint64      `json:"number"`
	Start      []element   `json:"start"` // what the map held before the first call
	Operations []operation `json:"operations"`
	End        []element   `json:"end"` // what a walk met after the last return
}

type operation struct {
	Thread int             `json:"thread"`
	Kind   string          `json:"op"`
	Key    uint64          `json:"key"`
	Value  uint64          `json:"value"` // of an insert
	Last   uint64          `json:"last"`  // of a range, which begins at Key
	Call   int64           `json:"call"`
	Return int64           `json:"return"`
	Answer json.RawMessage `json:"answer"`

	// The answer, by kind: a truth value for insert and erase, at most one element for find, a
	// number for size, elements for what visits several.
	truth    bool
	number   uint64
	elements []element
	// The operation was still going on where the history was cut off: it may have taken effect or
	// not, and what it would have answered is unknown.
	pending bool
}

// The walk at the end of a history, through which nobody ran.
const walk = "walk"

const never = math.MaxInt64

// parse reads a history and makes its end an operation like the others.
func parse(line []byte) (*history, error) {
	h := new(history)
	decoder := json.NewDecoder(strings.NewReader(string(line)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(h); err != nil {
		return nil, err
	}
	end := int64(math.MinInt64)
	for i := range h.Operations {
		op := &h.Operations[i]
		if err := op.read(); err != nil {
			return nil, fmt.Errorf("operation %d: %w", i, err)
		}
		if op.Return > end {
			end = op.Return
		}
	}
	if len(h.Operations) == 0 {
		return nil, fmt.Errorf("there are no operations")
	}
	h.Operations = append(h.Operations, operation{
		Thread: -1, Kind: walk, Call: end + 1, Return: end + 2, Last: math.MaxUint64, elements: h.End})
	return h, nil
}

func (op *operation) read() error {
	if op.Return < op.Call {
		return fmt.Errorf("it returned before it was called")
	}
	var err error
	switch op.Kind {
	case "insert", "erase":
		err = json.Unmarshal(op.Answer, &op.truth)
	case "find":
		var value *uint64
		if err = json.Unmarshal(op.Answer, &value); err == nil && value != nil {
			op.elements = []element{{op.Key, *value}}
		}
	case "size":
		err = json.Unmarshal(op.Answer, &op.number)
	case "range", "snapshot":
		err = json.Unmarshal(op.Answer, &op.elements)
		if op.Kind == "snapshot" {
			op.Last = math.MaxUint64
		}
	default:
		return fmt.Errorf("there is no operation %q", op.Kind)
	}
	if err != nil {
		return fmt.Errorf("%s cannot answer %q: %w", op.Kind, op.Answer, err)
	}
	return nil
}

// changes says whether the operation changed the map, or may have.
func (op *operation) changes() bool {
	return (op.Kind == "insert" || op.Kind == "erase") && (op.pending || op.truth)
}

// spans says whether the operation tells of more keys than one.
func (op *operation) spans() bool {
	return op.Kind != "insert" && op.Kind != "erase" && op.Kind != "find"
}

// keys are those that the history tells of, ascending.
func (h *history) keys() []uint64 {
	all := map[uint64]bool{}
	for _, e := range h.Start {
		all[e[0]] = true
	}
	for _, op := range h.Operations {
		if !op.spans() {
			all[op.Key] = true
		}
		for _, e := range op.elements {
			all[e[0]] = true
		}
	}
	var keys []uint64
	for key := range all {
		keys = append(keys, key)
	}
	sort.Slice(keys, func(i, j int) bool { return keys[i] < keys[j] })
	return keys
}

// of is what the history tells of one key. A history without sizes is linearizable only if this is
// for each key, because what a map holds under one key does not depend on the others (Herlihy and Wing
// 1990, theorem 1).
func (h *history) of(key uint64) *history {
	part := *h
	part.Start = under(key, h.Start)
	part.Operations = nil
	for _, op := range h.Operations {
		if op.spans() {
			op.elements = under(key, op.elements)
			if op.Key > key || key > op.Last {
				continue
			}
		} else if op.Key != key {
			continue
		}
		part.Operations = append(part.Operations, op)
	}
	return &part
}

func under(key uint64, elements []element) []element {
	var found []element
	for _, e := range elements {
		if e[0] == key {
			found = append(found, e)
		}
	}
	return found
}

// partitions by key where that loses nothing: where no operation but the walk at the end, which ran
// alone, tells of several keys.
func (h *history) partitions() bool {
	for _, op := range h.Operations {
		if op.spans() && op.Kind != walk {
			return false
		}
	}
	return true
}
