# SPDX-License-Identifier: MIT
"""Widgets as assistive technologies see them, asked over D-Bus.

A program that is busy answers once in a while, and then all that it was asked. So a tree is not
walked by questions one after another: the program's cache tells all widgets that anybody has asked
for before, and all of them are asked for their children at once. The cache alone is not enough: GTK
4.8 puts a widget into it when it is first asked for, and tells a wrong parent of a stack's pages.
"""
import functools

import gi
from gi.repository import Gio, GLib

gi.require_version('Atspi', '2.0')
from gi.repository import Atspi  # noqa: E402  names of roles and states

ACCESSIBLE, ACTION = 'org.a11y.atspi.Accessible', 'org.a11y.atspi.Action'
COMPONENT, TEXT = 'org.a11y.atspi.Component', 'org.a11y.atspi.Text'
CACHE, CACHE_PATH = 'org.a11y.atspi.Cache', '/org/a11y/atspi/cache'
PROPERTIES = 'org.freedesktop.DBus.Properties'
REGISTRY, ROOT = 'org.a11y.atspi.Registry', '/org/a11y/atspi/accessible/root'
IN_WINDOW = GLib.Variant('(u)', (1,))  # in which coordinates places are told
ANSWER_MS = 10000  # after which a program counts as one that does not answer


class Gone(Exception):
    """A widget that is not there any more, or a program that does not answer."""


@functools.cache
def role_name(number):
    return Atspi.role_get_name(Atspi.Role(number))


@functools.cache
def state_number(name):
    return int(getattr(Atspi.StateType, name.upper()))


def has_state(states, name):
    """In the words of a state set."""
    bit = state_number(name)
    return bool(states[bit // 32] >> bit % 32 & 1)


def words(*values):
    return GLib.Variant('(' + 's' * len(values) + ')', values)


def numbers(*values):
    return GLib.Variant('(' + 'i' * len(values) + ')', values)


def connect(address):
    flags = Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT | Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION
    return Gio.DBusConnection.new_for_address_sync(address, flags, None, None)


class Bus:
    """The bus of assistive technologies that belongs to a session bus."""

    def __init__(self, session):
        told = connect(session).call_sync('org.a11y.Bus', '/org/a11y/bus', 'org.a11y.Bus', 'GetAddress',
                                          None, None, Gio.DBusCallFlags.NONE, -1, None)
        self.connection = connect(told.unpack()[0])

    def call(self, name, path, interface, method, args=None):
        return self.call_raw(name, path, interface, method, args).unpack()

    def call_raw(self, name, path, interface, method, args=None):
        """The answer as it is. To unpack a large one takes long."""
        try:
            return self.connection.call_sync(name, path, interface, method, args, None, Gio.DBusCallFlags.NONE,
                                             ANSWER_MS, None)
        except GLib.Error as error:
            raise Gone(str(error)) from error

    def call_all(self, name, paths, interface, method, args=None):
        """Asks all of them before it waits for the first. Returns answers; None: no answer."""
        answers, left = [None] * len(paths), [len(paths)]

        def take(connection, result, index):
            left[0] -= 1
            try:
                answers[index] = connection.call_finish(result).unpack()
            except GLib.Error:
                pass
        for index, path in enumerate(paths):
            self.connection.call(name, path, interface, method, args, None, Gio.DBusCallFlags.NONE, ANSWER_MS,
                                 None, take, index)
        while left[0]:
            GLib.MainContext.default().iteration(True)
        return answers

    def find_program(self, pid):
        """The name and the path of the root of a program's widgets; None: not there yet."""
        for name, path in self.call(REGISTRY, ROOT, ACCESSIBLE, 'GetChildren')[0]:
            try:
                got = self.call('org.freedesktop.DBus', '/org/freedesktop/DBus', 'org.freedesktop.DBus',
                                'GetConnectionUnixProcessID', words(name))[0]
            except Gone:
                continue
            if got == pid:
                return name, path
        return None


def path_in(reference):
    return reference.get_child_value(1).get_string()


class Node:
    """A widget as it was at a moment."""

    def __init__(self, item):
        part = item.get_child_value
        self.path = path_in(part(0))
        self.count = part(4).get_int32()
        self.interfaces = part(5).get_strv()
        self.name = part(6).get_string()
        self.role = role_name(part(7).get_uint32())
        self.states = part(9).unpack()
        self.children = []

    def has(self, state):
        return has_state(self.states, state)


class Tree:
    """The widgets that a program has at a moment: its root, and those below it.

    `nodes` has them in their order. Without what is hidden, and all that is in it, if `visible`.
    """

    def __init__(self, bus, program, visible=True):
        self.bus, (self.program, self.root), self.visible = bus, program, visible
        self.told = {}  # paths of the children of a path
        self.cached = self._read_cache()
        asked = [path for path, node in self.cached.items() if node.count or path == self.root]
        unknown = self._ask_children(asked)
        if unknown:
            while unknown:
                unknown = self._ask_children(unknown)
            self.cached = self._read_cache()
        self.nodes = self._below(self.root)

    def _read_cache(self):
        items = self.bus.call_raw(self.program, CACHE_PATH, CACHE, 'GetItems').get_child_value(0)
        nodes = (Node(items.get_child_value(i)) for i in range(items.n_children()))
        return {node.path: node for node in nodes}

    def _ask_children(self, paths):
        """Returns those of them that are in no cache and have not been asked."""
        answers = self.bus.call_all(self.program, paths, ACCESSIBLE, 'GetChildren')
        for path, answer in zip(paths, answers):
            self.told[path] = [child for name, child in answer[0] if name == self.program] if answer else []
        found = dict.fromkeys(child for path in paths for child in self.told[path])
        return [path for path in found if path not in self.cached and path not in self.told]

    def _below(self, top):
        nodes, stack = {}, [top]
        while stack:
            node = self.cached.get(stack.pop())
            if not node or node.path in nodes:
                continue
            if self.visible and node.path != self.root and not node.has('visible'):
                continue
            nodes[node.path] = node
            node.children = self.told.get(node.path, [])
            stack += reversed(node.children)
        return nodes
