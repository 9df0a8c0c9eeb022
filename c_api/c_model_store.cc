#include "c_api/c_handles.h"
#include "intaglio/model_store.h"

using namespace intaglio;

static_assert(ITG_MODEL_STORE_OVERHEAD == kModelStoreOverhead);

namespace {

Flash from_c(const itg_flash& flash) {
  Flash result;
  for (size_t i = 0; i < 2; ++i) result.slots[i] = flash.slots[i];
  result.slot_bytes = flash.slot_bytes;
  result.program_bytes = flash.program_bytes;
  result.erase = flash.erase;
  result.program = flash.program;
  result.context = flash.context;
  return result;
}

}  // namespace

itg_bytes itg_stored_model(const itg_flash* flash) { return to_c(stored_model(from_c(*flash))); }
bool itg_store_model(const itg_flash* flash, itg_bytes model) {
  return store_model(from_c(*flash), intaglio::from_c(model));
}
