"""Norms of the frameworks as programs: run as they are, or traced on the carriers, which says what they compute.

An array of a trace is one arbitrary row (:class:`.arrays.Arr`); its axes have labels and no sizes. Whatever lacks a
single meaning for all rows of every dimension is refused, with the line of the program.
"""
