// Which ideas of the engine are used: each can be switched off, to see what it is worth.

#ifndef OPTIONS_H
#define OPTIONS_H

#include <string>

struct Options {};

#endif
