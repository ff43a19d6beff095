package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"sort"
)

// An element of a map, [key, value] in JSON.
type element [2]uint64

// A history is what the threads of one short run of a map did, as the recorder writes it, one JSON
// object a line. Times are nanoseconds of a clock that all threads share. An operation took effect,
// if the map is linearizable, at one moment between its call and its return, both included.
//
//	{"map":"my_map","seed":7,"number":12,"start":[[3,101]],"operations":[
//	  {"thread":0,"op":"insert","key":3,"value":1201,"call":0,"return":85,"answer":false}],
//	 "end":[[3,101]]}
//
// An operation that has not returned has neither "return" nor "answer". A history with one did not
// end, and has no "end".
type history struct {
	Map        string
	Seed       uint64
	Number     uint64
	Start      []element // what the map held before the first call
	Operations []operation
}

type operation struct {
	Thread int
	Kind   string
	Key    uint64
	Value  uint64 // of an insert, of an insert_or_assign, and what an update leaves
	Last   uint64 // of a range or an erase_range, which begin at Key
	Call   int64
	Return int64

	// The answer, by kind: a truth value for insert, erase, empty and insert_or_assign, which says
	// whether it added the key; at most one element for find, for update, which says what it replaced, and for
	// extract, which says what it removed; a number for size, and for erase_range, which says how many
	// elements it removed; elements for what visits several.
	truth    bool
	number   uint64
	elements []element
	// The operation was still going on where the history was cut off: it may have taken effect or
	// not, and what it would have answered is unknown.
	pending bool
	// An erase_range that is looked at under one key alone, from which it removed at most the number.
	partly bool
	// The erase_range of which this is the erase under one key.
	whole *operation
	parts int // of an erase_range, that there are
}

// The walk at the end of a history, through which nobody ran.
const walk = "walk"

const never = math.MaxInt64

// Times are within this of 0, so that there is room for what comes after all operations.
const furthest = int64(1) << 62

// What a line says. What it leaves out is nil.
type writtenHistory struct {
	Map        *string             `json:"map"`
	Seed       *uint64             `json:"seed"`
	Number     *uint64             `json:"number"`
	Start      *[]element          `json:"start"`
	Operations *[]writtenOperation `json:"operations"`
	End        *[]element          `json:"end"`
}

type writtenOperation struct {
	Thread *int            `json:"thread"`
	Kind   *string         `json:"op"`
	Key    *uint64         `json:"key"`   // of what is about one key, and range
	Value  *uint64         `json:"value"` // of insert, insert_or_assign and update
	Last   *uint64         `json:"last"`  // of range and erase_range
	Call   *int64          `json:"call"`
	Return *int64          `json:"return"`
	Answer json.RawMessage `json:"answer"`
}

// parse reads a history and makes its end an operation like the others.
func parse(line []byte) (*history, error) {
	var written writtenHistory
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&written); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, errors.New("something follows the object")
	}
	if written.Map == nil || written.Seed == nil || written.Number == nil || written.Start == nil ||
		written.Operations == nil {
		return nil, errors.New("it needs map, seed, number, start and operations")
	}
	h := &history{Map: clipped(message(*written.Map), mostOfWord), Seed: *written.Seed, Number: *written.Number, Start: *written.Start}
	if len(contentsOf(h.Start)) != len(h.Start) {
		return nil, errors.New("a map cannot hold a key twice, as this one does at its start")
	}
	if len(*written.Operations) == 0 {
		return nil, errors.New("there are no operations")
	}
	end := int64(math.MinInt64)
	for i := range *written.Operations {
		op, err := (*written.Operations)[i].read()
		if err != nil {
			return nil, fmt.Errorf("operation %d: %w", i, err)
		}
		h.Operations = append(h.Operations, *op)
		if !op.pending && op.Return > end {
			end = op.Return
		}
	}
	if h.ended() != (written.End != nil) {
		return nil, errors.New("it needs an end exactly if all operations have returned")
	}
	if h.ended() {
		h.Operations = append(h.Operations, operation{
			Thread: -1, Kind: walk, Call: end + 1, Return: end + 2, Last: math.MaxUint64, elements: *written.End})
	}
	return h, nil
}

// ended says whether all operations have returned.
func (h *history) ended() bool {
	for i := range h.Operations {
		if h.Operations[i].pending {
			return false
		}
	}
	return true
}

func (written *writtenOperation) read() (*operation, error) {
	if written.Thread == nil || written.Kind == nil || written.Call == nil {
		return nil, errors.New("it needs thread, op and call")
	}
	op := &operation{Thread: *written.Thread, Kind: *written.Kind, Call: *written.Call, Return: never}
	if op.Thread < 0 {
		return nil, fmt.Errorf("there is no thread %d", op.Thread)
	}
	if err := op.readQuestion(written); err != nil {
		return nil, err
	}
	if written.Return == nil {
		if written.Answer != nil {
			return nil, errors.New("it answered without returning")
		}
		op.pending = true
		return op, nil
	}
	op.Return = *written.Return
	if op.Return < op.Call {
		return nil, errors.New("it returned before it was called")
	}
	if op.Call < -furthest || op.Return > furthest {
		return nil, errors.New("its times are further than 2^62 ns from 0")
	}
	if err := op.readAnswer(written.Answer); err != nil {
		return nil, fmt.Errorf("%s cannot answer %q: %w", op.Kind, written.Answer, err)
	}
	return op, nil
}

func (op *operation) readQuestion(written *writtenOperation) error {
	needed := map[string]*uint64{}
	switch op.Kind {
	case "insert", "insert_or_assign", "update":
		needed["key"], needed["value"] = written.Key, written.Value
	case "erase", "extract", "find":
		needed["key"] = written.Key
	case "range", "erase_range":
		needed["key"], needed["last"] = written.Key, written.Last
	case "size", "empty":
	case "snapshot":
		op.Last = math.MaxUint64
	default:
		return fmt.Errorf("there is no operation %q", op.Kind)
	}
	for name, field := range needed {
		if field == nil {
			return fmt.Errorf("%s needs a %s", op.Kind, name)
		}
		switch name {
		case "key":
			op.Key = *field
		case "value":
			op.Value = *field
		case "last":
			op.Last = *field
		}
	}
	return nil
}

func (op *operation) readAnswer(answer json.RawMessage) error {
	if answer == nil {
		return errors.New("an answer is missing")
	}
	if op.Kind == "find" || op.Kind == "update" || op.Kind == "extract" {
		var value *uint64
		if err := json.Unmarshal(answer, &value); err != nil || value == nil {
			return err
		}
		op.elements = []element{{op.Key, *value}}
		return nil
	}
	if string(answer) == "null" {
		return errors.New("only a find, an update or an extract finds nothing")
	}
	switch op.Kind {
	case "insert", "erase", "insert_or_assign", "empty":
		return json.Unmarshal(answer, &op.truth)
	case "size", "erase_range":
		return json.Unmarshal(answer, &op.number)
	default:
		return json.Unmarshal(answer, &op.elements)
	}
}

// UnmarshalJSON accepts two numbers, no fewer and no more.
func (e *element) UnmarshalJSON(text []byte) error {
	var numbers []*uint64
	if err := json.Unmarshal(text, &numbers); err != nil {
		return err
	}
	if len(numbers) != 2 || numbers[0] == nil || numbers[1] == nil {
		return fmt.Errorf("%s is not an element, [key, value]", text)
	}
	e[0], e[1] = *numbers[0], *numbers[1]
	return nil
}

// changes says whether the operation changed the map, or may have.
func (op *operation) changes() bool {
	switch op.Kind {
	case "insert", "erase":
		return op.pending || op.truth
	case "insert_or_assign":
		return true
	case "update", "extract":
		return op.pending || len(op.elements) > 0
	case "erase_range":
		return op.pending || op.number > 0
	default:
		return false
	}
}

// leavesValue says whether the operation, if it changes the map, leaves its value under its key.
func (op *operation) leavesValue() bool {
	return op.Kind == "insert" || op.Kind == "insert_or_assign" || op.Kind == "update"
}

// spans says whether the operation is about several keys.
func (op *operation) spans() bool {
	return !op.leavesValue() && op.Kind != "erase" && op.Kind != "extract" && op.Kind != "find"
}

// changesMeet says whether two threads were changing the map at the same time.
func (h *history) changesMeet() bool {
	for i := range h.Operations {
		for j := range h.Operations[:i] {
			a, b := &h.Operations[i], &h.Operations[j]
			if a.Thread != b.Thread && a.changes() && b.changes() && a.Call <= b.Return && b.Call <= a.Return {
				return true
			}
		}
	}
	return false
}

// asked is the number of operations, without the walk at the end.
func (h *history) asked() int {
	count := 0
	for _, op := range h.Operations {
		if op.Kind != walk {
			count++
		}
	}
	return count
}

// size is how much there is to read and to think of: of an operation that had not returned there are
// two possibilities.
func (h *history) size() int {
	size := len(h.Operations)
	for i := range h.Operations {
		if h.Operations[i].pending {
			size++
		}
	}
	return size
}

// threads is how many take part, without the walk at the end.
func (h *history) threads() int {
	seen := map[int]bool{}
	for _, op := range h.Operations {
		if op.Kind != walk {
			seen[op.Thread] = true
		}
	}
	return len(seen)
}

func (h *history) firstCall() int64 {
	first := int64(never)
	for _, op := range h.Operations {
		if op.Call < first {
			first = op.Call
		}
	}
	return first
}

// keys are those that the history is about, ascending.
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

// of is what the history says about one key. A history without sizes is linearizable only if this is
// for each key, because what a map holds under one key does not depend on the others (Herlihy and Wing
// 1990, theorem 1).
func (h *history) of(key uint64) *history {
	part := *h
	part.Start = under(key, h.Start)
	part.Operations = nil
	for _, op := range h.Operations {
		if op.spans() {
			op.elements = under(key, op.elements)
			op.partly = true
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

// partitions says whether the history may be judged key by key: whether no operation but the walk at
// the end, which ran alone, is about several keys.
func (h *history) partitions() bool {
	for _, op := range h.Operations {
		if op.spans() && op.Kind != walk {
			return false
		}
	}
	return true
}
