"""What-ifs: one pure rewrite of an OpStream per file. Rules price with them, remedies build on them.

A rewrite takes a stream (and, where a part of it is meant, the positions of source lines in `stream.sites`) and returns
another; it never says what that saves: the simulator does. Where it finds nothing to change it returns the stream itself.
"""
