# SPDX-License-Identifier: MIT
# Included by the Kbuild file of a module that defines events, of this one too. Such a module has
# more than one object, since its events are gathered where kbuild links several into one.
RS_LINUX := $(patsubst %/,%,$(dir $(lastword $(MAKEFILE_LIST))))

ccflags-y += -I$(RS_LINUX)/include -I$(RS_LINUX)/../../include -I$(RS_LINUX)/../../../shared/include
# The agent's own dialect of C: declarations stand where they are needed.
ccflags-y += -std=gnu17 -Wno-declaration-after-statement
RS_SCRIPT ?= sites.lds
ldflags-y += -T $(RS_LINUX)/$(RS_SCRIPT)
