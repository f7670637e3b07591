package wire

import "bytes"

// insert is text that goes in front of the byte at a place.
type insert struct {
	at   int
	text []byte
}

// apply appends msg with the inserts, which are in order of place.
func apply(dst, msg []byte, inserts []insert) []byte {
	from := 0
	for _, in := range inserts {
		dst = append(dst, msg[from:in.at]...)
		dst = append(dst, in.text...)
		from = in.at
	}
	return append(dst, msg[from:]...)
}

// object is what walking an object finds.
type object struct {
	first, second int // the values of the two named members, 0 if there is none
	end           int // the closing brace
	empty         bool
}

// look walks the object at b[i] and notes where the values of two members are, whose
// names are plain text. Of equal names the last one counts, as for mcp-go's own decoder.
func look(b []byte, i int, first, second string) (object, error) {
	o := object{empty: true}
	c, err := open(b, i, '{')
	if err != nil {
		return o, err
	}
	for {
		raw, err := c.member()
		if err != nil {
			return o, err
		}
		if raw == nil {
			o.end = c.i - 1
			return o, nil
		}
		o.empty = false
		switch string(raw[1 : len(raw)-1]) {
		case first:
			o.first = c.i
		case second:
			o.second = c.i
		}
		if err := c.skip(); err != nil {
			return o, err
		}
	}
}

// path walks from object to object and returns the place of the last member's value.
// It takes the first member of a name and reads no further, so that a long list is not
// walked once more; mcp-go writes each name once.
func path(b []byte, names ...string) (int, bool) {
	i := space(b, 0)
	for _, n := range names {
		c, err := open(b, i, '{')
		if err != nil {
			return 0, false
		}
		for {
			raw, err := c.member()
			if err != nil || raw == nil {
				return 0, false
			}
			if string(raw[1:len(raw)-1]) == n {
				break
			}
			if c.skip() != nil {
				return 0, false
			}
		}
		i = c.i
	}
	return i, true
}

// member returns `"name":value` to be inserted at the end of an object.
func member(o object, name string, value []byte) insert {
	var text []byte
	if !o.empty {
		text = append(text, ',')
	}
	text = append(append(append(append(text, '"'), name...), '"', ':'), value...)
	return insert{o.end, text}
}

// SpliceDeclarations copies, in every object of the array at the path (such as result,
// tools), the value of the _meta member metaKey to a member of its own at the end of the
// object. An object without that value, or with such a member already, stays as it is.
// Everything else is kept byte for byte (D3). It returns msg itself when there is nothing
// to add.
func SpliceDeclarations(msg []byte, metaKey, name string, to ...string) []byte {
	at, ok := path(msg, to...)
	// Most servers declare few policies or none; a search is cheaper than a walk.
	if !ok || !bytes.Contains(msg[at:], []byte(metaKey)) {
		return msg
	}
	c, err := open(msg, at, '[')
	if err != nil {
		return msg
	}
	out, from := []byte(nil), 0
	for {
		more, err := c.next(']')
		if err != nil {
			return msg
		}
		if !more {
			break
		}
		value, end, err := declared(msg, c.i, metaKey, name)
		if err != nil {
			return msg
		}
		c.i = end
		if value == nil {
			continue
		}
		if out == nil {
			out = make([]byte, 0, len(msg)+len(msg)/4)
		}
		// The object has a _meta, so there is a member to put a comma behind.
		out = append(append(append(append(out, msg[from:end-1]...), `,"`...), name...), `":`...)
		out = append(out, value...)
		from = end - 1
	}
	if out == nil {
		return msg
	}
	return append(out, msg[from:]...)
}

// declared returns the value that has to be copied within the element at msg[i], nil
// if there is none, and where the element ends.
func declared(msg []byte, i int, metaKey, name string) (value []byte, end int, err error) {
	if i >= len(msg) || msg[i] != '{' {
		end, err = skipValue(msg, i)
		return nil, end, err
	}
	o, err := look(msg, i, "_meta", name)
	if err != nil {
		return nil, i, err
	}
	meta, twice := o.first, o.second
	if twice != 0 || meta == 0 || msg[meta] != '{' {
		return nil, o.end + 1, nil
	}
	m, err := look(msg, meta, metaKey, metaKey)
	if err != nil || m.first == 0 {
		return nil, o.end + 1, err
	}
	stop, err := skipValue(msg, m.first)
	return msg[m.first:stop], o.end + 1, err
}

// SpliceCapability adds value to the object at the path (such as result, capabilities)
// twice: as the member name, and as the member extension of the object extensions, which
// it adds if need be. What is there already stays, and everything else is kept byte for
// byte (D3). It returns msg itself when there is nothing to add to.
func SpliceCapability(msg []byte, name, extension string, value []byte, to ...string) []byte {
	at, ok := path(msg, to...)
	if !ok {
		return msg
	}
	caps, err := look(msg, at, name, "extensions")
	if err != nil {
		return msg
	}
	var inserts []insert
	flow, ext := caps.first, caps.second
	if ext != 0 && msg[ext] == '{' {
		o, err := look(msg, ext, extension, extension)
		if err != nil {
			return msg
		}
		if o.first == 0 {
			inserts = append(inserts, member(o, extension, value))
		}
	}
	if flow == 0 {
		inserts = append(inserts, member(caps, name, value))
		caps.empty = false
	}
	if ext == 0 {
		object := append(append(append([]byte(`{"`), extension...), `":`...), value...)
		inserts = append(inserts, member(caps, "extensions", append(object, '}')))
	}
	if len(inserts) == 0 {
		return msg
	}
	return apply(make([]byte, 0, len(msg)+256), msg, inserts)
}
