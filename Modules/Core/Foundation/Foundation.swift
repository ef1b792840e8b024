// Uses FoundationEssentials where it is a separate library: most programs on Linux need neither internationalization nor
// networking. A file imports either this module or all of Foundation, because both declare names such as `TimeInterval`.
#if canImport(FoundationEssentials)
    @_exported public import FoundationEssentials
#else
    @_exported public import Foundation
#endif
