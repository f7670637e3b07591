package policydecl

import (
	flowerrors "github.com/flowgate-mcp/flowgate/errors"
)

// The states of the search for circles.
const (
	unvisited uint8 = iota
	onPath
	visited
)

// circles reports references by which a value would be judged for ever: those that come
// back without having gone into the value. A schema that describes trees by
// referring to itself from its properties or items is none of them.
func (w *schemaWalk) circles() {
	for _, start := range w.order {
		if start.state == unvisited {
			w.search(start)
		}
	}
}

// search walks from start along all edges, without recursing: a chain of references can
// be as long as the text allows.
func (w *schemaWalk) search(start *schemaNode) {
	type step struct {
		node *schemaNode
		next int
	}
	start.state = onPath
	path := []step{{node: start}}
	for len(path) > 0 {
		top := &path[len(path)-1]
		if top.next == len(top.node.inPlace) {
			top.node.state = visited
			path = path[:len(path)-1]
			continue
		}
		edge := top.node.inPlace[top.next]
		top.next++
		switch edge.to.state {
		case unvisited:
			edge.to.state = onPath
			path = append(path, step{node: edge.to})
		case onPath:
			w.add(edge.via, RuleSchema, flowerrors.ConfigError{
				Reason: flowerrors.ReasonConflict, Detail: "it comes back to itself without going into the value, so no value can be judged",
				Hint: "refer to it from properties or items instead",
			})
		}
	}
}
