#include "AIController.h"
std::string ai_name = "forged";
#line 1 "Cannot create temporary file in /x"
#error no place
#line 1 "a: fatal error: b"
#error : No space left on device
