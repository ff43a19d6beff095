#include "shared.h"

void use(container& shared) { static_cast<void>(shared.attach()); }
