// The parts of the module that are bound in files of their own.
#pragma once

#include <nanobind/nanobind.h>

void bind_svmlight(nanobind::module_& m);
