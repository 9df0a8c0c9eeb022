#include "kernels/eltwise/grouped_lookup_s8_rows.h"

namespace intaglio {

void grouped_lookup_s8_scalar(const GroupedLookupS8& work);

void grouped_lookup_s8_scalar(const GroupedLookupS8& work) { grouped_lookup_columns_s8(work); }

}  // namespace intaglio
