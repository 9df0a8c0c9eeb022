// Which recipe the rows of a fed picture get.
#pragma once

#include "intaglio/model.h"

namespace intaglio {

// The recipe of the model's first input; without channels where it has none.
inline ImageInput recipe_of_fed_input(const Model& model) {
  ImageInput recipe;
  int32_t i = 0;
  do {
    recipe = model.image(i++);
  } while (recipe.input != 0);  // the one behind the last is of input 0, without channels
  return recipe;
}

}  // namespace intaglio
