package main

import "github.com/anishathalye/porcupine"

// What a map holds. A state is never changed: a step makes another.
type contents map[uint64]uint64

func contentsOf(elements []element) contents {
	state := contents{}
	for _, e := range elements {
		state[e[0]] = e[1]
	}
	return state
}

// step says whether a map that holds `state` may answer `op` as it did, and what it holds then.
func step(state contents, op *operation) (bool, contents) {
	value, present := state[op.Key]
	switch op.Kind {
	case "insert":
		if !op.pending && op.truth == present {
			return false, state
		}
		if present {
			return true, state
		}
		return true, state.with(op.Key, op.Value)
	case "erase":
		if !op.pending && op.truth != present {
			return false, state
		}
		if !present {
			return true, state
		}
		return true, state.without(op.Key)
	case "insert_or_assign":
		return op.pending || op.truth != present, state.with(op.Key, op.Value)
	case "update":
		if !op.pending && !op.found(value, present) {
			return false, state
		}
		if !present {
			return true, state
		}
		return true, state.with(op.Key, op.Value)
	case "extract":
		if !op.pending && !op.found(value, present) {
			return false, state
		}
		return true, state.without(op.Key)
	}
	if op.pending {
		return true, state
	}
	switch op.Kind {
	case "find":
		return op.found(value, present), state
	case "size":
		return op.number == uint64(len(state)), state
	case "empty":
		return op.truth == (len(state) == 0), state
	default:
		return state.visitedBy(op), state
	}
}

// found says whether this is what it found under its key.
func (op *operation) found(value uint64, present bool) bool {
	if len(op.elements) == 0 {
		return !present
	}
	return present && value == op.elements[0][1]
}

func (c contents) with(key, value uint64) contents {
	next := contents{}
	for k, v := range c {
		next[k] = v
	}
	next[key] = value
	return next
}

func (c contents) without(key uint64) contents {
	next := contents{}
	for k, v := range c {
		if k != key {
			next[k] = v
		}
	}
	return next
}

// visitedBy says whether `op` met each element within its bounds once, a range in ascending order,
// and nothing else.
func (c contents) visitedBy(op *operation) bool {
	within := 0
	for key := range c {
		if op.Key <= key && key <= op.Last {
			within++
		}
	}
	if within != len(op.elements) {
		return false
	}
	met := map[uint64]bool{}
	for i, e := range op.elements {
		value, present := c[e[0]]
		if !present || value != e[1] || met[e[0]] || e[0] < op.Key || e[0] > op.Last {
			return false
		}
		if op.Kind == "range" && i > 0 && op.elements[i-1][0] > e[0] {
			return false
		}
		met[e[0]] = true
	}
	return true
}

func equal(left, right contents) bool {
	if len(left) != len(right) {
		return false
	}
	for key, value := range left {
		if other, present := right[key]; !present || other != value {
			return false
		}
	}
	return true
}

// linearizable decides by porcupine, which searches for an order of the operations as Wing and Gong
// (1993) and Lowe (2017) do.
func (h *history) linearizable() bool {
	if h.partitions() {
		for _, key := range h.keys() {
			if !h.of(key).decide() {
				return false
			}
		}
		return true
	}
	return h.decide()
}

func (h *history) decide() bool {
	model := porcupine.Model{
		Init: func() interface{} { return state{held: contentsOf(h.Start)} },
		Step: func(before, input, _ interface{}) (bool, interface{}) {
			return before.(state).step(input.(*operation))
		},
		Equal: func(a, b interface{}) bool { return a.(state).equal(b.(state)) },
	}
	parts := h.inParts()
	for _, op := range h.Operations {
		if op.parts == 0 && op.number > 0 && op.Kind == "erase_range" && !op.pending && !op.partly {
			return false // there was no key
		}
	}
	var operations []porcupine.Operation
	for _, op := range parts {
		operations = append(operations, porcupine.Operation{
			ClientId: op.Thread + 1, Input: op, Call: op.Call, Return: op.Return})
	}
	return porcupine.CheckOperations(model, operations)
}

// A state is what the map holds, and how far each erase_range is.
type state struct {
	held contents
	far  map[*operation]progress
}

type progress struct {
	parts   int // that took effect
	removed uint64
}

func (s state) step(op *operation) (bool, state) {
	possible, held := step(s.held, op)
	if op.whole == nil {
		return possible, state{held, s.far}
	}
	far := map[*operation]progress{}
	for whole, progress := range s.far {
		far[whole] = progress
	}
	now := far[op.whole]
	now.parts++
	now.removed += uint64(len(s.held) - len(held))
	far[op.whole] = now
	if op.whole.pending {
		return true, state{held, far}
	}
	isOver := now.parts == op.whole.parts && !op.whole.partly
	return now.removed <= op.whole.number && (!isOver || now.removed == op.whole.number), state{held, far}
}

func (s state) equal(other state) bool {
	for whole, progress := range s.far {
		if other.far[whole] != progress {
			return false
		}
	}
	return len(s.far) == len(other.far) && equal(s.held, other.held)
}

// inParts has, in place of each erase_range, its erases. It is not atomic: each key in its range is
// absent at some moment of the call, is removed by then if it was there, and may be removed once more
// for each time that others add it meanwhile. An erase that comes when the key is absent does nothing,
// so that there may be as many of a key as it was removed at most.
func (h *history) inParts() []*operation {
	var all []*operation
	for i := range h.Operations {
		whole := &h.Operations[i]
		if whole.Kind != "erase_range" {
			all = append(all, whole)
			continue
		}
		before := len(all)
		for _, key := range h.keys() {
			for n := h.mostRemovals(whole, key); n > 0; n-- {
				all = append(all, &operation{Thread: whole.Thread, Kind: "erase", Key: key, Call: whole.Call,
					Return: whole.Return, pending: true, whole: whole})
			}
		}
		whole.parts = len(all) - before
	}
	return all
}

// mostRemovals is how often an erase_range may have removed a key: 0 of one that is not in its range.
func (h *history) mostRemovals(whole *operation, key uint64) uint64 {
	if key < whole.Key || whole.Last < key {
		return 0
	}
	most := uint64(1)
	for i := range h.Operations {
		op := &h.Operations[i]
		if op.Key == key && op.leavesValue() && op.changes() && op.Call <= whole.Return && whole.Call <= op.Return {
			most++
		}
	}
	if !whole.pending && most > whole.number && whole.number > 0 {
		return whole.number
	}
	return most
}
