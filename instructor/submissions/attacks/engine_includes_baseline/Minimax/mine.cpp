#include "AIController.h"
#include "baseline.cpp"
