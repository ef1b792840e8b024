// The essentials alone, where they are a library of their own: most programs on Linux need neither internationalization nor
// networking. A file imports this or all of Foundation: both declare some names, such as `TimeInterval`.
#if canImport(FoundationEssentials)
    @_exported public import FoundationEssentials
#else
    @_exported public import Foundation
#endif
