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
	}
	if op.pending {
		return true, state
	}
	switch op.Kind {
	case "find":
		return op.found(value, present), state
	case "size":
		return op.number == uint64(len(state)), state
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

func equal(a, b interface{}) bool {
	left, right := a.(contents), b.(contents)
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
		Init: func() interface{} { return contentsOf(h.Start) },
		Step: func(state, input, _ interface{}) (bool, interface{}) {
			return step(state.(contents), input.(*operation))
		},
		Equal: equal,
	}
	operations := make([]porcupine.Operation, len(h.Operations))
	for i := range h.Operations {
		op := &h.Operations[i]
		operations[i] = porcupine.Operation{ClientId: op.Thread + 1, Input: op, Call: op.Call, Return: op.Return}
	}
	return porcupine.CheckOperations(model, operations)
}
